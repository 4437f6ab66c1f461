package minikcmapi

import (
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/forkapi"
)

func isPhase(t *testing.T, phase string) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool { return stringOf(t, o, "status.phase") == phase }
}

// A Fork starts when it is created, shows its own time, and ends when it is deleted.
func TestForkObject(t *testing.T) {
	t.Parallel()
	cluster := startForks(t)
	forks := kindClient(t, cluster.Cluster, "forks")
	then := createObject(t, cluster, "before")
	createObject(t, cluster, "after")
	made := create(t, forks, objectOf(t, "Fork", "what-if", "revision: "+then.ResourceVersion))
	if made.GetName() != "what-if" {
		t.Errorf("it is %v", made)
	}
	o := until(t, forks, "what-if", isPhase(t, "Running"))
	if condition(t, o, "Ready") != "Running" || stringOf(t, o, "status.parent") != "https://"+cluster.Address() || stringOf(t, o, "status.user") != "kubernetes-admin" {
		t.Errorf("the fork is %v", o.Object["status"])
	}
	there := clientOf(t, stringOf(t, o, "status.kubeconfig"))
	maps, err := there.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for i := range maps.Items {
		names[maps.Items[i].Name] = true
	}
	if !names["before"] || names["after"] {
		t.Errorf("the fork has the ConfigMaps %v", names)
	}
	var listed []forkapi.Fork
	if sendFork(t, cluster.Config(), http.MethodGet, forkapi.Path, "", &listed); len(listed) != 1 || listed[0].ID != "what-if" {
		t.Errorf("/minikcm/v1 lists %+v", listed)
	}
	began := stringOf(t, o, "status.startTime")
	if code := sendFork(t, cluster.Config(), http.MethodPost, forkapi.Path+"/what-if/clock/advance", `{"duration": "1h"}`, nil); code != http.StatusOK {
		t.Errorf("its clock is moved with %d", code)
	}
	o, err = forks.Get(t.Context(), "what-if", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before, errBefore := time.Parse(time.RFC3339, began)
	now, errNow := time.Parse(time.RFC3339, stringOf(t, o, "status.time"))
	if errBefore != nil || errNow != nil || now.Sub(before) < time.Hour {
		t.Errorf("an hour later it is %v, before %v", now, before)
	}
	if err := forks.Delete(t.Context(), "what-if", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stringOf(t, o, "status.kubeconfig")); !os.IsNotExist(err) {
		t.Errorf("its kubeconfig is left: %v", err)
	}
	if sendFork(t, cluster.Config(), http.MethodGet, forkapi.Path, "", &listed); len(listed) > 0 {
		t.Errorf("after its end there are %+v", listed)
	}
}

// Forks of requests are objects, too. A fork ends with its cluster, and while it starts.
func TestForkObjectOfOthers(t *testing.T) {
	t.Parallel()
	cluster := startForks(t)
	forks := kindClient(t, cluster.Cluster, "forks")
	var fork forkapi.Fork
	if code := sendFork(t, cluster.Config(), http.MethodPost, forkapi.Path, "", &fork); code != http.StatusCreated {
		t.Fatalf("a fork is answered with %d", code)
	}
	if o, err := forks.Get(t.Context(), fork.ID, metav1.GetOptions{}); err != nil || stringOf(t, o, "status.server") != fork.Server {
		t.Errorf("it is shown as %v, %v", o, err)
	}
	if code := sendFork(t, cluster.Config(), http.MethodDelete, forkapi.Path+"/"+fork.ID, "", nil); code != http.StatusOK {
		t.Errorf("ending it is answered with %d", code)
	}
	create(t, forks, objectOf(t, "Fork", "short", "{}"))
	if err := forks.Delete(t.Context(), "short", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if all, err := forks.List(t.Context(), metav1.ListOptions{}); err != nil || len(all.Items) > 0 {
		t.Errorf("after their ends there are %v, %v", all, err)
	}
	create(t, forks, objectOf(t, "Fork", "last", "{}"))
}

// Forks that cannot be are refused, also by a dry run, which starts nothing.
func TestForkObjectRefuses(t *testing.T) {
	t.Parallel()
	cluster := startForks(t)
	forks := kindClient(t, cluster.Cluster, "forks")
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	for _, opts := range []metav1.CreateOptions{{}, dry} {
		for _, spec := range []string{"revision: 999999", "revision: -1", "revision: x"} {
			if _, err := forks.Create(t.Context(), objectOf(t, "Fork", "bad", spec), opts); !apierrors.IsInvalid(err) {
				t.Errorf("%s %v is answered with %v", spec, opts.DryRun, err)
			}
		}
	}
	if _, err := forks.Create(t.Context(), objectOf(t, "Fork", "dry", "{}"), dry); err != nil {
		t.Error(err)
	}
	if all, err := forks.List(t.Context(), metav1.ListOptions{}); err != nil || len(all.Items) > 0 {
		t.Errorf("there are %v, %v", all, err)
	}
	for i := range 4 {
		create(t, forks, objectOf(t, "Fork", "fork-"+strconv.Itoa(i), "{}"))
	}
	for _, opts := range []metav1.CreateOptions{{}, dry} {
		if _, err := forks.Create(t.Context(), objectOf(t, "Fork", "fifth", "{}"), opts); !apierrors.IsTooManyRequests(err) {
			t.Errorf("a fifth fork %v is answered with %v", opts.DryRun, err)
		}
	}
	if _, err := forks.Patch(t.Context(), "fork-0", types.MergePatchType, []byte(`{"spec":{"revision":5}}`), metav1.PatchOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("another spec: %v", err)
	}
	if err := forks.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}
