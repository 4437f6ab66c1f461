package hunt

import (
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm"
)

// Only the content of what a user has created is a user's.
func TestForeign(t *testing.T) {
	t.Parallel()
	const operator, user, controller = "system:serviceaccount:default:operator", "jane", "system:serviceaccount:kube-system:job-controller"
	written := func(uid types.UID, actor, verb string, effect minikcm.Effect, paths ...string) minikcm.Write {
		w := minikcm.Write{UID: uid, Actor: actor, Verb: verb, Effect: effect, Kind: "Secret", Namespace: "default", Name: string(uid)}
		for _, path := range paths {
			w.Changes = append(w.Changes, minikcm.Change{Path: path})
		}
		return w
	}
	writes := []minikcm.Write{
		written("own", operator, "create", minikcm.Created), written("own", operator, "delete", minikcm.Removed),
		written("controller", controller, "create", minikcm.Created), written("controller", operator, "delete", minikcm.Removed),
		written("unknown", operator, "delete", minikcm.Removed),
		written("noted", user, "create", minikcm.Created), written("noted", operator, "patch", minikcm.Changed, "metadata.annotations[seen]", "status.phase"),
		written("changed", user, "create", minikcm.Created), written("changed", operator, "update", minikcm.Changed, "metadata.labels", "data.key"),
		written("deleted-x", user, "create", minikcm.Created), written("deleted-x", user, "update", minikcm.Changed, "data"), written("deleted-x", operator, "delete", minikcm.Removed),
	}
	found := conduct{}
	(&course{generated: map[string]string{"deleted-x": "deleted-*"}}).foreign(found, writes, operator)
	if diff := cmp.Diff([]string{"changes Secret default/changed", "deletes Secret default/deleted-*"}, slices.Sorted(maps.Keys(found))); diff != "" {
		t.Errorf("the findings differ (-want +got):\n%s", diff)
	}
	usual := conduct{"changes Secret default/changed": misdeed{}}
	want := []misdeed{{"foreign object", "it deletes Secret default/deleted-*, which jane has created, and which it leaves alone undisturbed"}}
	if got := found.beyond(usual); !slices.Equal(got, want) {
		t.Errorf("beyond what is usual it found %v, want %v", got, want)
	}
}

// A write fails for ever if its last answer is an error, and late.
func TestFailing(t *testing.T) {
	t.Parallel()
	call := func(at time.Duration, verb, name string, code int) Call {
		return Call{After: at, Point: Point{Verb: verb, Resource: "pods", Name: name, Nth: int(at / time.Second)}, Code: code}
	}
	disturbed := call(9*time.Second, "update", "disturbed", http.StatusConflict)
	disturbed.What = "conflict at"
	found := conduct{}
	failing(found, []Call{
		call(1*time.Second, "update", "early", http.StatusNotFound),
		call(6*time.Second, "update", "healed", http.StatusConflict), call(7*time.Second, "update", "healed", http.StatusOK),
		call(8*time.Second, "create", "there", http.StatusConflict), call(8*time.Second, "delete", "gone", http.StatusNotFound),
		call(2*time.Second, "update", "late", http.StatusOK), call(9*time.Second, "update", "late", http.StatusNotFound), disturbed,
	}, 5*time.Second)
	if diff := cmp.Diff([]string{"update pods late: 404"}, slices.Sorted(maps.Keys(found))); diff != "" {
		t.Errorf("the findings differ (-want +got):\n%s", diff)
	}
}

// A report goes on with what follows the disturbed write in the undisturbed run, and is missing in the disturbed one.
func TestFirstDivergence(t *testing.T) {
	t.Parallel()
	call := func(name string, code int, what string) Call {
		return Call{Point: Point{Verb: "update", Resource: "pods", Name: name, Nth: 1}, Code: code, What: what}
	}
	base := []Call{call("early", 200, ""), call("refused", 409, ""), call("a", 200, ""), call("refused, too", 409, ""), call("b", 200, ""), call("c", 200, "")}
	for name, test := range map[string]struct {
		disturbed []Call
		want      int
	}{
		"the next write":   {[]Call{call("a", 200, "crash"), call("c", 200, "")}, 4},
		"it fails":         {[]Call{call("early", 200, ""), call("a", 200, "crash"), call("b", 500, ""), call("c", 200, "")}, 4},
		"the write itself": {[]Call{call("a", 0, "crash"), call("b", 200, ""), call("c", 200, "")}, 2},
		"all":              {[]Call{call("a", 200, "crash"), call("b", 200, ""), call("c", 200, "")}, -1},
	} {
		i, differ := firstDivergence(test.disturbed, base)
		if !differ {
			i = -1
		}
		if i != test.want {
			t.Errorf("%s: it goes on with call %d, want %d", name, i, test.want)
		}
	}
}

// A claim that has grown ends as one that was created with its size; one that still grows does not.
func TestGrowth(t *testing.T) {
	t.Parallel()
	claim := func(capacity, allocated string) state {
		status := map[string]any{"capacity": map[string]any{"storage": capacity}}
		if allocated != "" {
			status["allocatedResources"] = map[string]any{"storage": allocated}
		}
		return named([]unstructured.Unstructured{{Object: map[string]any{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": map[string]any{"name": "data"}, "status": status}}})
	}
	if found := differences(claim("15Gi", ""), claim("15Gi", "15Gi")); len(found) > 0 {
		t.Errorf("after growth, it differs: %v", found)
	}
	if found := differences(claim("10Gi", "15Gi"), claim("10Gi", "")); len(found) == 0 {
		t.Error("while it grows, it does not differ")
	}
}
