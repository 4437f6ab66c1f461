package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

func TestRollBackByAnnotation(t *testing.T) {
	const cause = "kubernetes.io/change-cause"
	for name, tc := range map[string]struct {
		asks, image, cause, event string
	}{
		"to a revision":               {"1", "a", "first", `Rolled back deployment "web" to revision 1`},
		"to the last one":             {"0", "b", "second", `Rolled back deployment "web" to revision 2`},
		"to one that there is not":    {"9", "c", "third", "Unable to find the revision to rollback to."},
		"to what is in force already": {"3", "c", "third", `The rollback revision contains the same template as current deployment "web"`},
	} {
		t.Run(name, func(t *testing.T) {
			d := deployment(2, "c", func(d *appsv1.Deployment) {
				d.Annotations = map[string]string{rollbackToAnnotation: tc.asks, cause: "third", revisionAnnotation: "3"}
			})
			p := decide(t, d,
				replicaSet("a", 1, 0, annotated(cause, "first")), replicaSet("b", 2, 0, annotated(cause, "second")), replicaSet("c", 3, 2, annotated(cause, "third")))
			if len(p.Actions) != 1 || p.Actions[0].Verb != plan.Update {
				t.Fatalf("actions %+v", p.Actions)
			}
			update := p.Actions[0].Objects[0].(*appsv1.Deployment)
			if diff := cmp.Diff(map[string]string{cause: tc.cause, revisionAnnotation: "3"}, update.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			if got := update.Spec.Template.Spec.Containers[0].Image; got != tc.image {
				t.Errorf("the image is %s, want %s", got, tc.image)
			}
			if diff := cmp.Diff(map[string]string{"app": "web"}, update.Spec.Template.Labels); diff != "" {
				t.Errorf("the template's labels (-want +got):\n%s", diff)
			}
			if got := p.Actions[0].Succeeded.Message; got != tc.event {
				t.Errorf("event: %s", got)
			}
			if Conclude(d, p, nil, now) != nil {
				t.Error("a status is written beside")
			}
		})
	}
}

func TestNoRollBack(t *testing.T) {
	asking := func(value string) deploymentOption {
		return func(d *appsv1.Deployment) { d.Annotations = map[string]string{rollbackToAnnotation: value} }
	}
	for name, d := range map[string]*appsv1.Deployment{
		"while paused":    deployment(2, "b", asking("1"), paused),
		"while it goes":   deployment(2, "b", asking("1"), deleted),
		"to no number":    deployment(2, "b", asking("first")),
		"without a value": deployment(2, "b", asking("")),
	} {
		t.Run(name, func(t *testing.T) {
			for _, action := range decide(t, d, replicaSet("a", 1, 0), replicaSet("b", 2, 2)).Actions {
				if _, ok := action.Objects[0].(*appsv1.Deployment); ok {
					t.Errorf("action %+v", action)
				}
			}
		})
	}
	d := deployment(2, "a", asking("0"))
	p := decide(t, d, replicaSet("a", 1, 2))
	if event := p.Actions[len(p.Actions)-1].Succeeded.Message; event != "Unable to find last revision." {
		t.Errorf("with no other revision: %s", event)
	}
}
