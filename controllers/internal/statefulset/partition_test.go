package statefulset_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
)

// TestPartitionIsKept checks that an update does not replace pods below the partition, and
// that their replacements have the old template too.
func TestPartitionIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { partitionIsKept(t, nil) })
}

func partitionIsKept(t *rapid.T, decide decision) {
	m := newModel(t, decide)
	n := int32(rapid.IntRange(1, 5).Draw(t, "replicas"))
	partition := int32(rapid.IntRange(0, int(n)).Draw(t, "partition"))
	policies := []appsv1.PodManagementPolicyType{appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement}
	m.create(appsv1.StatefulSetSpec{
		Replicas: &n, PodManagementPolicy: rapid.SampledFrom(policies).Draw(t, "policy"),
		UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
			Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition},
		},
	})
	m.settle()
	m.World.AfterWrite = func() { m.neverNewBelow(int(partition)) }
	m.Crashes = true
	m.Other(m.rollOut)
	m.Other(m.kill)
	m.steps()
	m.settle()
	m.neverNewBelow(int(partition))
	m.newFrom(int(partition), int(n))
}

// kill deletes a pod.
func (m *model) kill(draw modeltest.Draw) bool {
	pods := modeltest.List[*corev1.Pod](m.World)
	if len(pods) == 0 {
		return false
	}
	m.must(m.World.Delete(m.t.Context(), pods[draw(len(pods), "killed")]))
	return true
}

// neverNewBelow checks that all pods below the partition have the first template.
func (m *model) neverNewBelow(partition int) {
	modeltest.Each(m.World, func(pod *corev1.Pod) {
		if image := pod.Spec.Containers[0].Image; image != "1" && ordinalOf(pod) < partition {
			m.t.Fatalf("%s has the image %s, and is below the partition %d\n%s", pod.Name, image, partition, m.dump())
		}
	})
}

// newFrom checks that all other pods exist and have the newest template.
func (m *model) newFrom(partition, n int) {
	newest, updated := m.set().Spec.Template.Spec.Containers[0].Image, 0
	modeltest.Each(m.World, func(pod *corev1.Pod) {
		if ordinalOf(pod) >= partition && controllerref.Ready(pod) && pod.Spec.Containers[0].Image == newest {
			updated++
		}
	})
	if updated != n-partition {
		m.t.Fatalf("%d pods have the newest template, %d of %d are to\n%s", updated, n-partition, n, m.dump())
	}
}

// ordinalOf returns a pod's ordinal; the names end in one digit.
func ordinalOf(pod *corev1.Pod) int { return int(pod.Name[len(pod.Name)-1] - '0') }
