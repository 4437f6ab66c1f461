package decide

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

var now = time.Unix(1_000_000, 0)

type deploymentOption func(*appsv1.Deployment)

func deployment(replicas int32, image string, opts ...deploymentOption) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	deadline, history := int32(600), int32(10)
	quarter := intstr.FromString("25%")
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", UID: "d", Generation: 7},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec(image)},
			RevisionHistoryLimit: &history, ProgressDeadlineSeconds: &deadline,
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &quarter, MaxUnavailable: &quarter},
			},
		},
	}
	for _, o := range opts {
		o(d)
	}
	return d
}

func podSpec(image string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}}
}

func paused(d *appsv1.Deployment) { d.Spec.Paused = true }

func deleted(d *appsv1.Deployment) { d.DeletionTimestamp = &metav1.Time{Time: now} }

func recreating(d *appsv1.Deployment) {
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
}

func limited(surge, unavailable int) deploymentOption {
	return func(d *appsv1.Deployment) {
		s, u := intstr.FromInt32(int32(surge)), intstr.FromInt32(int32(unavailable))
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: &s, MaxUnavailable: &u}
	}
}

func history(n int32) deploymentOption {
	return func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = &n }
}

// status sets the counts; the conditions stay.
func status(s appsv1.DeploymentStatus) deploymentOption {
	return func(d *appsv1.Deployment) {
		conditions := d.Status.Conditions
		d.Status = s
		d.Status.Conditions = conditions
	}
}

func progressing(state corev1.ConditionStatus, reason string, ago time.Duration) deploymentOption {
	at := metav1.NewTime(now.Add(-ago))
	return func(d *appsv1.Deployment) {
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
			Type: appsv1.DeploymentProgressing, Status: state, Reason: reason, LastUpdateTime: at, LastTransitionTime: at,
		})
	}
}

type setOption func(*appsv1.ReplicaSet)

// replicaSet returns an observed ReplicaSet whose pods all exist and are available.
func replicaSet(image string, revision int, replicas int32, opts ...setOption) *appsv1.ReplicaSet {
	yes, none := true, int32(0)
	labels := map[string]string{"app": "web", appsv1.DefaultDeploymentUniqueLabelKey: image}
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: "web-" + image, UID: types.UID(image), Generation: 2, Labels: labels,
			CreationTimestamp: metav1.NewTime(now.Add(time.Duration(revision-100) * time.Hour)),
			Annotations:       map[string]string{revisionAnnotation: fmt.Sprint(revision)},
			OwnerReferences:   []metav1.OwnerReference{{UID: "d", Controller: &yes}},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec(image)},
		},
		Status: appsv1.ReplicaSetStatus{
			Replicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas, ObservedGeneration: 2, TerminatingReplicas: &none,
		},
	}
	for _, o := range opts {
		o(rs)
	}
	return rs
}

func available(n int32) setOption {
	return func(rs *appsv1.ReplicaSet) { rs.Status.ReadyReplicas, rs.Status.AvailableReplicas = n, n }
}

func pods(n int32) setOption { return func(rs *appsv1.ReplicaSet) { rs.Status.Replicas = n } }

func unobserved(rs *appsv1.ReplicaSet) { rs.Generation++ }

func sizedFor(desired, most int) setOption {
	return func(rs *appsv1.ReplicaSet) {
		rs.Annotations[desiredReplicasAnnotation] = fmt.Sprint(desired)
		rs.Annotations[maxReplicasAnnotation] = fmt.Sprint(most)
	}
}

func annotated(key, value string) setOption {
	return func(rs *appsv1.ReplicaSet) { rs.Annotations[key] = value }
}

func orphaned(rs *appsv1.ReplicaSet) { rs.OwnerReferences = nil }

func decide(t *testing.T, d *appsv1.Deployment, sets ...*appsv1.ReplicaSet) Plan {
	t.Helper()
	p, err := Deployment(Snapshot{Deployment: d, ReplicaSets: sets}, now)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// summary formats a plan's actions: the messages of their events, or else the verbs.
func summary(p Plan) []string {
	var lines []string
	for _, action := range p.Actions {
		for _, o := range action.Objects {
			line := fmt.Sprintf("%s %s", action.Verb, o.GetName())
			if action.Verb == plan.Update || action.Verb == plan.Create {
				line += fmt.Sprintf(" %d", *o.(*appsv1.ReplicaSet).Spec.Replicas)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func TestDecideActions(t *testing.T) {
	newName := "web-" + controllerref.TemplateHash(&deployment(1, "new").Spec.Template, nil)
	over := status(appsv1.DeploymentStatus{ObservedGeneration: 7, Replicas: 10, UpdatedReplicas: 10, ReadyReplicas: 10, AvailableReplicas: 10})
	for name, tt := range map[string]struct {
		d    *appsv1.Deployment
		sets []*appsv1.ReplicaSet
		want []string
	}{
		"first": {deployment(3, "new"), nil, []string{"create " + newName + " 3"}},
		"done":  {deployment(3, "new"), []*appsv1.ReplicaSet{replicaSet("new", 1, 3)}, nil},
		"start of a rollout": {
			deployment(10, "new"),
			[]*appsv1.ReplicaSet{replicaSet("old", 1, 10)},
			[]string{"create " + newName + " 3", "update web-old 8"},
		},
		"start of a rollout without surge": {
			deployment(10, "new", limited(0, 2)),
			[]*appsv1.ReplicaSet{replicaSet("old", 1, 10)},
			[]string{"create " + newName + " 0", "update web-old 8"},
		},
		"start of a rollout without loss": {
			deployment(3, "new"),
			[]*appsv1.ReplicaSet{replicaSet("old", 1, 3)},
			[]string{"create " + newName + " 1"},
		},
		"new grows first": {
			deployment(10, "new"),
			[]*appsv1.ReplicaSet{replicaSet("old", 1, 8), replicaSet("new", 2, 3, available(0))},
			[]string{"update web-new 5"},
		},
		"new waits for old to have shrunk": {
			deployment(10, "new"), []*appsv1.ReplicaSet{replicaSet("old", 1, 8, pods(10), unobserved), replicaSet("new", 2, 3, available(0))}, nil,
		},
		"new waits for old pods to be gone": {
			deployment(10, "new"), []*appsv1.ReplicaSet{replicaSet("old", 1, 8, pods(10)), replicaSet("new", 2, 3, available(0))}, nil,
		},
		"old shrinks by what is available": {
			deployment(10, "new"),
			[]*appsv1.ReplicaSet{replicaSet("old", 1, 8), replicaSet("new", 2, 5, available(2))},
			[]string{"update web-old 6"},
		},
		"old does not shrink by what may be gone": {
			deployment(10, "new"), []*appsv1.ReplicaSet{replicaSet("old", 1, 8, available(10)), replicaSet("new", 2, 5, available(2), unobserved)}, nil,
		},
		"unhealthy old pods go first": {
			deployment(10, "new"),
			[]*appsv1.ReplicaSet{replicaSet("older", 1, 4), replicaSet("old", 2, 4, available(0)), replicaSet("new", 3, 5, available(3))},
			[]string{"update web-old 1"},
		},
		"new is too large": {
			deployment(3, "new"), []*appsv1.ReplicaSet{replicaSet("new", 2, 5)}, []string{"update web-new 3"},
		},
		"scaled up": {
			deployment(5, "new"), []*appsv1.ReplicaSet{replicaSet("new", 2, 3, sizedFor(3, 4))}, []string{"update web-new 5"},
		},
		"scaled in the middle": {
			deployment(20, "new"),
			[]*appsv1.ReplicaSet{replicaSet("old", 1, 8, sizedFor(10, 13)), replicaSet("new", 2, 5, sizedFor(10, 13))},
			[]string{"update web-new 10", "update web-old 15"},
		},
		"scaled down in the middle": {
			deployment(5, "new"),
			[]*appsv1.ReplicaSet{replicaSet("old", 1, 8, sizedFor(10, 13)), replicaSet("new", 2, 5, sizedFor(10, 13))},
			[]string{"update web-new 3", "update web-old 4"},
		},
		"scaled while saturated": {
			deployment(10, "new"),
			[]*appsv1.ReplicaSet{replicaSet("old", 1, 2, sizedFor(9, 12)), replicaSet("new", 2, 10, sizedFor(10, 13))},
			[]string{"update web-old 0"},
		},
		"paused: no new ReplicaSet": {
			deployment(10, "new", paused), []*appsv1.ReplicaSet{replicaSet("old", 1, 10, sizedFor(10, 13))}, nil,
		},
		"paused: scales": {
			deployment(12, "new", paused),
			[]*appsv1.ReplicaSet{replicaSet("old", 1, 10, sizedFor(10, 13))},
			[]string{"update web-old 12"},
		},
		"recreate: old first": {
			deployment(3, "new", recreating), []*appsv1.ReplicaSet{replicaSet("old", 1, 3)}, []string{"update web-old 0"},
		},
		"recreate: waits": {
			deployment(3, "new", recreating), []*appsv1.ReplicaSet{replicaSet("old", 1, 0, pods(2))}, nil,
		},
		"recreate: then new": {
			deployment(3, "new", recreating), []*appsv1.ReplicaSet{replicaSet("old", 1, 0)}, []string{"create " + newName + " 3"},
		},
		"deleted": {deployment(3, "new", deleted), []*appsv1.ReplicaSet{replicaSet("old", 1, 3)}, nil},
		"adopts": {
			deployment(3, "new"), []*appsv1.ReplicaSet{replicaSet("new", 1, 3, orphaned)}, []string{"adopt web-new"},
		},
		"history": {
			deployment(10, "new", history(1), over),
			[]*appsv1.ReplicaSet{
				replicaSet("b", 2, 0), replicaSet("c", 1, 0), replicaSet("d", 3, 0, unobserved), replicaSet("e", 4, 0), replicaSet("new", 5, 10),
			},
			[]string{"delete web-c", "delete web-b"},
		},
		"rolled back": {
			deployment(3, "old"), []*appsv1.ReplicaSet{replicaSet("old", 1, 0), replicaSet("new", 2, 3)}, []string{"update web-old 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, summary(decide(t, tt.d, tt.sets...))); diff != "" {
				t.Errorf("Deployment() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecreateWaitsForTerminatingPods(t *testing.T) {
	in := Snapshot{
		Deployment: deployment(3, "new", recreating), ReplicaSets: []*appsv1.ReplicaSet{replicaSet("old", 1, 0)},
		Running: map[types.UID]int{"old": 1},
	}
	p, err := Deployment(in, now)
	if err != nil || len(p.Actions) != 0 {
		t.Errorf("Deployment() = %v, %v, want no action while a pod is terminating", summary(p), err)
	}
}

func TestRollBackKeepsHistory(t *testing.T) {
	p := decide(t, deployment(3, "old"), replicaSet("old", 1, 0, annotated(revisionHistoryAnnotation, "7")), replicaSet("new", 2, 3))
	rs := p.Actions[0].Objects[0].(*appsv1.ReplicaSet)
	want := map[string]string{
		revisionAnnotation: "3", revisionHistoryAnnotation: "7,1", desiredReplicasAnnotation: "3", maxReplicasAnnotation: "4",
	}
	if diff := cmp.Diff(want, rs.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if p.Status.Revision != "3" {
		t.Errorf("the Deployment's revision = %q, want 3", p.Status.Revision)
	}
}

func TestNewReplicaSet(t *testing.T) {
	d := deployment(3, "new", func(d *appsv1.Deployment) {
		d.Annotations = map[string]string{"kubernetes.io/change-cause": "x", corev1.LastAppliedConfigAnnotation: "{}", revisionAnnotation: "1"}
		d.Spec.MinReadySeconds = 5
	})
	p := decide(t, d, replicaSet("old", 4, 3))
	action := p.Actions[0]
	rs := action.Objects[0].(*appsv1.ReplicaSet)
	hash := controllerref.TemplateHash(&d.Spec.Template, nil)
	want := map[string]string{
		"kubernetes.io/change-cause": "x", revisionAnnotation: "5", desiredReplicasAnnotation: "3", maxReplicasAnnotation: "4",
	}
	if diff := cmp.Diff(want, rs.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	for what, labels := range map[string]map[string]string{
		"labels": rs.Labels, "selector": rs.Spec.Selector.MatchLabels, "template": rs.Spec.Template.Labels,
	} {
		if diff := cmp.Diff(map[string]string{"app": "web", "pod-template-hash": hash}, labels); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	if ref := metav1.GetControllerOf(rs); ref == nil || ref.UID != "d" || ref.Kind != "Deployment" || rs.Spec.MinReadySeconds != 5 {
		t.Errorf("ReplicaSet = %+v", rs)
	}
	event := plan.Event{Type: "Normal", Reason: "ScalingReplicaSet", Message: "Scaled up replica set web-" + hash + " from 0 to 1"}
	if action.Succeeded == nil || *action.Succeeded != event {
		t.Errorf("event = %+v, want %+v", action.Succeeded, event)
	}
	if len(d.Spec.Template.Labels) != 1 || len(d.Spec.Selector.MatchLabels) != 1 {
		t.Error("the decision changed its snapshot")
	}
}

func TestSelectsAll(t *testing.T) {
	d := deployment(3, "new", func(d *appsv1.Deployment) { d.Spec.Selector = &metav1.LabelSelector{} })
	p := decide(t, d)
	if len(p.Actions) != 0 || len(p.Events) != 1 || p.Events[0].Reason != "SelectingAll" || p.Status.Status.ObservedGeneration != 7 {
		t.Errorf("Deployment() = %+v", p)
	}
}
