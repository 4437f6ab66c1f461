package controllers_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// lateClass creates a class whose volumes are bound when a pod comes.
func (b *provisionerBench) lateClass(name, provisioner string) {
	b.t.Helper()
	b.class(name, func(c *storagev1.StorageClass) {
		c.Provisioner, c.VolumeBindingMode = provisioner, ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)
	})
}

// TestNoProvisioner runs pods with a claim in a class whose provisioner does not run: the
// scheduler gives up after ten minutes. A deleted pod leaves the claim to the next one.
func TestNoProvisioner(t *testing.T) {
	t.Parallel()
	b := startProvisioner(t)
	b.lateClass("foreign", "x.y/z")
	b.claim("c", "foreign")
	b.pod("p", "c")
	b.want(9*time.Minute, "claim c Pending in foreign", "pod p Pending")
	b.must(b.Advance(b.ctx, 2*time.Minute))
	b.wantEvent("p", "FailedScheduling", `running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded`)
	b.must(b.Client().CoreV1().Pods("default").Delete(b.ctx, "p", metav1.DeleteOptions{}))
	b.pod("q", "c")
	b.pod("r", "c")
	b.want(time.Minute, "claim c Pending in foreign", "pod q Pending", "pod r Pending")
	_, err := b.Client().StorageV1().StorageClasses().Patch(b.ctx, "foreign", types.MergePatchType, []byte(`{"metadata":{"annotations":{"minikcm.dev/simulated":"true"}}}`), metav1.PatchOptions{})
	b.must(err)
	b.want(time.Second, "claim c Bound in foreign", "volume for c Bound", "pod q Running", "pod r Running")
}

// TestLocalVolumes runs pods with one local volume on each of two nodes.
func TestLocalVolumes(t *testing.T) {
	t.Parallel()
	b := startProvisioner(t)
	b.lateClass("local", "kubernetes.io/no-provisioner")
	for _, node := range []string{"node-0", "node-1"} {
		_, err := b.Client().CoreV1().PersistentVolumes().Create(b.ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "on-" + node}, Spec: corev1.PersistentVolumeSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			StorageClassName: "local", PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/disk"}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
			}}}}},
		}}, metav1.CreateOptions{})
		b.must(err)
	}
	for i := range 3 {
		b.claim(fmt.Sprint("c", i), "local")
		b.pod(fmt.Sprint("p", i), fmt.Sprint("c", i))
	}
	b.must(b.Advance(b.ctx, time.Minute))
	pods, err := b.Client().CoreV1().Pods("default").List(b.ctx, metav1.ListOptions{})
	b.must(err)
	running := map[string]bool{}
	for _, p := range pods.Items {
		if p.Spec.NodeName == "" {
			b.wantEvent(p.Name, "FailedScheduling", "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind. "+
				"preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.")
			continue
		}
		claim, err := b.Client().CoreV1().PersistentVolumeClaims("default").Get(b.ctx, p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName, metav1.GetOptions{})
		b.must(err)
		if claim.Spec.VolumeName != "on-"+p.Spec.NodeName || p.Status.Phase != corev1.PodRunning {
			t.Errorf("pod %s is %s on %s with volume %s", p.Name, p.Status.Phase, p.Spec.NodeName, claim.Spec.VolumeName)
		}
		running[p.Spec.NodeName] = true
	}
	if len(running) != 2 {
		t.Errorf("pods run on %v, not on both nodes", running)
	}
}

// TestEphemeralVolume runs a pod with an ephemeral volume, whose claim and volume go with it.
func TestEphemeralVolume(t *testing.T) {
	t.Parallel()
	b := startProvisioner(t)
	_, err := b.Client().CoreV1().Pods("default").Create(b.ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "x"}},
		Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}}}}},
	}}, metav1.CreateOptions{})
	b.must(err)
	b.want(time.Minute, "claim p-v Bound in standard", "volume for p-v Bound", "pod p Running")
	claim, err := b.Client().CoreV1().PersistentVolumeClaims("default").Get(b.ctx, "p-v", metav1.GetOptions{})
	b.must(err)
	if claim.Labels["a"] != "b" || len(claim.OwnerReferences) != 1 || claim.OwnerReferences[0].Name != "p" {
		t.Errorf("the claim has the labels %v and the owners %v", claim.Labels, claim.OwnerReferences)
	}
	b.must(b.Client().CoreV1().Pods("default").Delete(b.ctx, "p", metav1.DeleteOptions{}))
	b.want(2 * time.Minute)
}
