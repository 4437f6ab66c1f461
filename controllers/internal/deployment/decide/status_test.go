package decide

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

func TestCounts(t *testing.T) {
	two := int32(2)
	terminating := func(rs *appsv1.ReplicaSet) { rs.Status.TerminatingReplicas = &two }
	got := decide(t, deployment(10, "new"), replicaSet("old", 1, 8, pods(9), terminating), replicaSet("new", 2, 5, available(2), pods(4))).Status.Status
	got.Conditions = nil
	want := appsv1.DeploymentStatus{
		ObservedGeneration: 7, Replicas: 13, UpdatedReplicas: 4, ReadyReplicas: 10, AvailableReplicas: 10, UnavailableReplicas: 1, TerminatingReplicas: &two,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestConditions(t *testing.T) {
	newName := "web-" + controllerref.TemplateHash(&deployment(1, "new").Spec.Template, nil)
	failing := func(rs *appsv1.ReplicaSet) {
		rs.Status.Conditions = []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: "True", Reason: "FailedCreate", Message: "quota"}}
	}
	counted := status(appsv1.DeploymentStatus{ObservedGeneration: 7, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 1, AvailableReplicas: 1})
	for name, tt := range map[string]struct {
		d    *appsv1.Deployment
		sets []*appsv1.ReplicaSet
		// want is "type=status reason message", by type.
		want    []string
		requeue time.Duration
	}{
		"created": {
			deployment(3, "new"), nil,
			[]string{
				"Progressing=True NewReplicaSetCreated Created new replica set \"" + newName + "\"",
				"Available=False MinimumReplicasUnavailable Deployment does not have minimum availability.",
			},
			601 * time.Second,
		},
		"found": {
			deployment(3, "new"),
			[]*appsv1.ReplicaSet{replicaSet("new", 1, 3, pods(0), available(0))},
			[]string{
				`Progressing=True FoundNewReplicaSet Found new replica set "web-new"`,
				"Available=False MinimumReplicasUnavailable Deployment does not have minimum availability.",
			},
			601 * time.Second,
		},
		"progress": {
			deployment(3, "new", progressing("True", newCreatedReason, time.Minute), counted),
			[]*appsv1.ReplicaSet{replicaSet("new", 1, 3, available(2))},
			[]string{
				"Available=False MinimumReplicasUnavailable Deployment does not have minimum availability.",
				`Progressing=True ReplicaSetUpdated ReplicaSet "web-new" is progressing.`,
			},
			601 * time.Second,
		},
		"no progress": {
			deployment(3, "new", progressing("True", updatedReason, time.Minute), counted),
			[]*appsv1.ReplicaSet{replicaSet("new", 1, 3, available(1))},
			[]string{
				"Progressing=True ReplicaSetUpdated ",
				"Available=False MinimumReplicasUnavailable Deployment does not have minimum availability.",
			},
			541 * time.Second,
		},
		"too late": {
			deployment(3, "new", progressing("True", updatedReason, 601*time.Second), counted),
			[]*appsv1.ReplicaSet{replicaSet("new", 1, 3, available(1))},
			[]string{
				"Available=False MinimumReplicasUnavailable Deployment does not have minimum availability.",
				`Progressing=False ProgressDeadlineExceeded ReplicaSet "web-new" has timed out progressing.`,
			},
			0,
		},
		"too late, then complete": {
			deployment(3, "new", progressing("False", timedOutReason, time.Hour), counted),
			[]*appsv1.ReplicaSet{replicaSet("new", 1, 3)},
			[]string{
				"Available=True MinimumReplicasAvailable Deployment has minimum availability.",
				`Progressing=True NewReplicaSetAvailable ReplicaSet "web-new" has successfully progressed.`,
			},
			0,
		},
		"complete, then a pod less": {
			deployment(4, "new", progressing("True", newAvailableReason, time.Hour)),
			[]*appsv1.ReplicaSet{replicaSet("new", 1, 4, available(3))},
			[]string{
				"Progressing=True NewReplicaSetAvailable ",
				"Available=True MinimumReplicasAvailable Deployment has minimum availability.",
			},
			0,
		},
		"paused": {
			deployment(3, "new", paused),
			[]*appsv1.ReplicaSet{replicaSet("old", 1, 3)},
			[]string{
				"Progressing=Unknown DeploymentPaused Deployment is paused",
				"Available=True MinimumReplicasAvailable Deployment has minimum availability.",
			},
			0,
		},
		"resumed": {
			deployment(3, "new", progressing("Unknown", pausedReason, time.Hour), counted),
			[]*appsv1.ReplicaSet{replicaSet("new", 1, 3, available(1))},
			[]string{
				"Progressing=Unknown DeploymentResumed Deployment is resumed",
				"Available=False MinimumReplicasUnavailable Deployment does not have minimum availability.",
			},
			601 * time.Second,
		},
		"failing": {
			deployment(3, "new", progressing("True", updatedReason, 0), counted),
			[]*appsv1.ReplicaSet{replicaSet("new", 1, 3, available(1), failing)},
			[]string{
				"Progressing=True ReplicaSetUpdated ",
				"Available=False MinimumReplicasUnavailable Deployment does not have minimum availability.",
				"ReplicaFailure=True FailedCreate quota",
			},
			601 * time.Second,
		},
		"no deadline": {
			deployment(3, "new", progressing("True", updatedReason, 0), func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = nil }),
			[]*appsv1.ReplicaSet{replicaSet("new", 1, 3)},
			[]string{"Available=True MinimumReplicasAvailable Deployment has minimum availability."},
			0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := decide(t, tt.d, tt.sets...)
			var got []string
			for _, c := range p.Status.Status.Conditions {
				got = append(got, strings.Join([]string{string(c.Type) + "=" + string(c.Status), c.Reason, c.Message}, " "))
				if c.LastUpdateTime.IsZero() || c.LastTransitionTime.IsZero() && c.Type != appsv1.DeploymentReplicaFailure {
					t.Errorf("%s has no time", c.Type)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if p.RequeueAfter != tt.requeue {
				t.Errorf("RequeueAfter = %v, want %v", p.RequeueAfter, tt.requeue)
			}
		})
	}
}

func TestProgressKeepsTransitionTime(t *testing.T) {
	d := deployment(3, "new", progressing("True", updatedReason, time.Minute), status(appsv1.DeploymentStatus{}))
	p := decide(t, d, replicaSet("new", 1, 3, available(1)))
	c := conditionOf(&p.Status.Status, appsv1.DeploymentProgressing)
	if !c.LastTransitionTime.Equal(&d.Status.Conditions[0].LastTransitionTime) || !c.LastUpdateTime.Time.Equal(now) {
		t.Errorf("condition = %+v, want an update now and the transition as it was", c)
	}
}

func TestConclude(t *testing.T) {
	d := deployment(3, "new")
	p := decide(t, d)
	written := Conclude(d, p, nil, now)
	if written == nil || written.Annotations[revisionAnnotation] != "1" || written.Status.ObservedGeneration != 7 {
		t.Fatalf("Conclude() = %+v", written)
	}
	if d.Annotations != nil || d.Status.ObservedGeneration != 0 {
		t.Error("Conclude changed the Deployment of the cache")
	}
	if again := Conclude(written, p, nil, now); again != nil {
		t.Errorf("Conclude() writes what is there already: %+v", again)
	}
	refusal := apierrors.NewForbidden(appsv1.Resource("replicasets"), "x", errors.New("exceeded quota"))
	broken := &plan.ActionError{Verb: plan.Create, Object: p.Actions[0].Objects[0], Err: refusal}
	failed := Conclude(d, p, broken, now)
	c := conditionOf(&failed.Status, appsv1.DeploymentProgressing)
	if c == nil || c.Reason != failedCreateReason || c.Status != corev1.ConditionFalse || !strings.Contains(c.Message, "exceeded quota") {
		t.Errorf("condition = %+v", c)
	}
	if failed.Status.ObservedGeneration != 0 {
		t.Error("counts are written though the actions failed")
	}
	if got := Conclude(d, p, &plan.ActionError{Verb: plan.Update, Object: d, Err: refusal}, now); got != nil {
		t.Errorf("Conclude() after a failed update = %+v", got)
	}
}

func TestCollided(t *testing.T) {
	d := deployment(3, "new")
	wanted := unbornSet(d).ReplicaSet
	ours := replicaSet("new", 1, 3)
	if got := Collided(d, wanted, ours); got != nil {
		t.Errorf("our own ReplicaSet counts as a collision: %+v", got.Status)
	}
	for name, live := range map[string]*appsv1.ReplicaSet{
		"stranger":         replicaSet("new", 1, 3, orphaned),
		"another template": replicaSet("old", 1, 3),
	} {
		got := Collided(d, wanted, live)
		if got == nil || *got.Status.CollisionCount != 1 {
			t.Fatalf("%s: Collided() = %v", name, got)
		}
		if unbornSet(got).Name == wanted.Name {
			t.Errorf("%s: the name is the same after the collision", name)
		}
		if again := Collided(got, wanted, live); *again.Status.CollisionCount != 2 {
			t.Errorf("%s: after two collisions the count is %d", name, *again.Status.CollisionCount)
		}
	}
}

func TestHash(t *testing.T) {
	d := deployment(1, "new")
	// The format of the hash is a contract with existing ReplicaSets: its value may change
	// only with the API types.
	if got := controllerref.TemplateHash(&d.Spec.Template, nil); got != controllerref.TemplateHash(d.Spec.Template.DeepCopy(), nil) || strings.ContainsAny(got, "aeiou013") {
		t.Errorf("controllerref.TemplateHash() = %q", got)
	}
	if controllerref.TemplateHash(&d.Spec.Template, nil) == controllerref.TemplateHash(&deployment(1, "old").Spec.Template, nil) {
		t.Error("two templates have one hash")
	}
}

func TestLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		d    *appsv1.Deployment
		want limits
	}{
		"25% of 10":      {deployment(10, "x"), limits{3, 2}},
		"25% of 1":       {deployment(1, "x"), limits{1, 0}},
		"of none":        {deployment(0, "x"), limits{0, 0}},
		"both zero":      {deployment(4, "x", limited(0, 0)), limits{0, 1}},
		"more than all":  {deployment(2, "x", limited(1, 9)), limits{1, 2}},
		"recreate":       {deployment(4, "x", recreating), limits{}},
		"nothing is set": {deployment(4, "x", func(d *appsv1.Deployment) { d.Spec.Strategy.RollingUpdate = nil }), limits{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := limitsOf(tt.d); got != tt.want {
				t.Errorf("limitsOf() = %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestExtendHistory(t *testing.T) {
	if got := extendHistory("", "1"); got != "1" {
		t.Errorf("extendHistory() = %q", got)
	}
	history := ""
	for range 3000 {
		history = extendHistory(history, "1234")
	}
	if len(history) > maxRevisionHistory || len(history) < maxRevisionHistory-10 || !strings.HasPrefix(history, "1234,1234,") {
		t.Errorf("a long history has %d bytes: %.20s...", len(history), history)
	}
}
