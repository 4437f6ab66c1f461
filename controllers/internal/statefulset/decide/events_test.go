package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

// TestEvents checks the events about pods and their claims, with and without actions.
func TestEvents(t *testing.T) {
	const remove, retain = appsv1.DeletePersistentVolumeClaimRetentionPolicyType, appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	set := metav1.OwnerReference{Kind: "StatefulSet", Name: "web", UID: "set", Controller: ptr.To(true)}
	other := metav1.OwnerReference{Kind: "Backup", Name: "nightly", UID: "backup", Controller: ptr.To(true)}
	conflict := "Warning ConflictingController: PersistentVolumeClaim data-web-0 has a conflicting OwnerReference that acts as a manging controller, " +
		"the retention policy is ignored for this claim"
	for name, tc := range map[string]struct {
		replicas        int32
		deleted, scaled appsv1.PersistentVolumeClaimRetentionPolicyType
		pods            string
		owners          []metav1.OwnerReference
		claim           string // "": it does not exist, "going": it is being deleted
		want            []string
	}{
		"a claim and its pod": {replicas: 1, deleted: retain, scaled: retain, want: []string{
			"data-web-0: Normal SuccessfulCreate: Create Claim data-web-0 Pod web-0 in StatefulSet web success",
			"data-web-0: Warning FailedCreate: Create Claim data-web-0 for Pod web-0 in StatefulSet web failed error: ",
			"web-0: Normal SuccessfulCreate: Create Pod %s in StatefulSet web successful",
			"web-0: Warning FailedCreate: Create Pod %s in StatefulSet web failed error: ",
		}},
		"a claim that goes": {replicas: 1, deleted: retain, scaled: retain, claim: "going", want: []string{
			"Warning FailedCreate: Create Pod web-0 in StatefulSet web failed error: pvc data-web-0 is being deleted",
		}},
		"one that goes with its pod": {
			replicas: 1, deleted: retain, scaled: remove, claim: "going",
			owners: []metav1.OwnerReference{{Kind: "Pod", Name: "web-0", UID: "before", Controller: ptr.To(true)}},
		},
		"a failed pod": {replicas: 1, deleted: retain, scaled: retain, pods: "0 failed", claim: "there", want: []string{
			"web-0: Normal SuccessfulDelete: Delete Pod %s in StatefulSet web successful",
			"web-0: Warning FailedDelete: Delete Pod %s in StatefulSet web failed error: ",
		}},
		"a claim that is given away": {replicas: 1, deleted: remove, scaled: retain, pods: "0 ready", claim: "there", want: []string{
			"data-web-0: Normal SuccessfulUpdate: Update Pod web-0 in StatefulSet web successful",
			"data-web-0: Warning FailedUpdate: Update Pod web-0 in StatefulSet web failed error: could not update claim data-web-0 for delete policy ownerRefs: ",
		}},
		"one of a pending pod": {replicas: 1, deleted: remove, scaled: retain, pods: "0 pending", claim: "there", want: []string{
			"data-web-0: Warning FailedUpdate: Update Pod web-0 in StatefulSet web failed error: could not update claim data-web-0 for delete policy ownerRefs: ",
		}},
		"another's":                {replicas: 1, deleted: remove, scaled: retain, pods: "0 ready", claim: "there", owners: []metav1.OwnerReference{other}},
		"another's, a pending pod": {replicas: 1, deleted: remove, scaled: retain, pods: "0 pending", claim: "there", owners: []metav1.OwnerReference{other}, want: []string{conflict}},
		"another's, and all stays": {replicas: 1, deleted: retain, scaled: retain, pods: "0 pending", claim: "there", owners: []metav1.OwnerReference{other}},
		"another's beside the set's": {replicas: 1, deleted: remove, scaled: retain, pods: "0 ready", claim: "there", owners: []metav1.OwnerReference{other, set}, want: []string{
			conflict,
			"data-web-0: Normal SuccessfulUpdate: Update Pod web-0 in StatefulSet web successful",
			"data-web-0: Warning FailedUpdate: Update Pod web-0 in StatefulSet web failed error: could not update claim data-web-0 for delete policy ownerRefs: ",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.replicas, claiming(tc.deleted, tc.scaled))
			if tc.pods != "" {
				w.pods(tc.pods)
			}
			if tc.claim != "" {
				w.claim(tc.owners, tc.claim == "going")
			}
			p, err := StatefulSet(w.Snapshot, now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, eventsOf(p)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// eventsOf returns the plan's own events, followed by the events of the actions' objects.
func eventsOf(p Plan) []string {
	var all []string
	text := func(e *plan.Event) string { return e.Type + " " + e.Reason + ": " + e.Message }
	for i := range p.Events {
		all = append(all, text(&p.Events[i]))
	}
	for _, action := range p.Actions {
		for _, o := range action.Objects {
			for _, e := range []*plan.Event{action.Succeeded, action.Failed} {
				if e != nil {
					all = append(all, o.GetName()+": "+text(e))
				}
			}
		}
	}
	return all
}
