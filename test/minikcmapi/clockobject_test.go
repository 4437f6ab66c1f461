package minikcmapi

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"minikcm.dev/minikcm"
)

var clocks = schema.GroupVersionResource{Group: "simulation.minikcm.dev", Version: "v1alpha1", Resource: "clocks"}

// clockObjects returns a client of the Clocks of a cluster.
func clockObjects(t *testing.T, cluster *minikcm.Cluster) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(clocks)
}

func patchClock(ctx context.Context, client dynamic.ResourceInterface, spec string) (*unstructured.Unstructured, error) {
	return client.Patch(ctx, "cluster", types.MergePatchType, []byte(`{"spec":`+spec+`}`), metav1.PatchOptions{})
}

func stringOf(t *testing.T, o *unstructured.Unstructured, path string) string {
	t.Helper()
	value, _, err := unstructured.NestedString(o.Object, strings.Split(path, ".")...)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func isTrue(t *testing.T, o *unstructured.Unstructured, path string) bool {
	t.Helper()
	value, _, err := unstructured.NestedBool(o.Object, strings.Split(path, ".")...)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// The Clock shows what /minikcm/v1/clock says, changes the clock with its spec, and follows changes from
// elsewhere.
func TestClockObject(t *testing.T) {
	cluster, client := startOn(t, 1)
	objects := clockObjects(t, cluster)
	if _, err := patchClock(t.Context(), objects, `{"paused":true,"speed":5}`); err != nil {
		t.Fatal(err)
	}
	state := must(t)(client.Get(t.Context()))
	if !state.Paused || state.Factor != 5 {
		t.Errorf("after the patch, the clock is %+v", state)
	}
	must(t)(client.Advance(t.Context(), time.Hour))
	o, err := objects.Get(t.Context(), "cluster", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := state.Now.Add(time.Hour).UTC().Truncate(time.Second).Format(time.RFC3339)
	if got := stringOf(t, o, "status.time"); got != want || !isTrue(t, o, "status.paused") || stringOf(t, o, "status.mode") != "virtual" {
		t.Errorf("an hour later, the Clock is %v, want the time %s", o.Object["status"], want)
	}
	must(t)(client.Resume(t.Context()))
	if o, err = objects.Get(t.Context(), "cluster", metav1.GetOptions{}); err != nil || isTrue(t, o, "spec.paused") {
		t.Errorf("resumed by another request, the Clock is %v, %v", o.Object["spec"], err)
	}
	writes := cluster.Writes().Writes(func(w *minikcm.Write) bool { return w.Kind == "Clock" })
	if len(writes) > 0 {
		t.Errorf("the write record has %v", writes)
	}
}

// Fields that make no sense, verbs that Clocks do not have, and real clocks are refused as by any kind.
func TestClockObjectRefuses(t *testing.T) {
	cluster, client := startOn(t, 1)
	objects := clockObjects(t, cluster)
	for spec, want := range map[string]string{
		`{"speed":-1}`:                       `Clock.simulation.minikcm.dev "cluster" is invalid: spec.speed: Invalid value: -1`,
		`{"speed":"fast"}`:                   `spec.speed in body must be of type number`,
		`{"workPaused":true}`:                `spec.workPaused: Invalid value: true`,
		`{"advanceTo":"tomorrow"}`:           `spec.advanceTo in body must be of type date-time`,
		`{"paused":true,"speed":2000000000}`: `spec.speed: Invalid value: 2e+09`,
	} {
		if _, err := patchClock(t.Context(), objects, spec); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is refused with %v, want %q", spec, err, want)
		}
	}
	if state := must(t)(client.Get(t.Context())); state.Paused || state.Factor != 1 {
		t.Errorf("the clock has become %+v", state)
	}
	if err := objects.Delete(t.Context(), "cluster", metav1.DeleteOptions{}); !apierrors.IsMethodNotSupported(err) {
		t.Errorf("it can be deleted: %v", err)
	}
	for _, spec := range []string{`{"speed":2000000000}`, `{"workPaused":true}`, `{"paused":true}`} {
		_, err := objects.Patch(t.Context(), "cluster", types.MergePatchType, []byte(`{"spec":`+spec+`}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if refused := !strings.HasPrefix(spec, `{"paused`); apierrors.IsInvalid(err) != refused {
			t.Errorf("a dry run of %s is answered with %v", spec, err)
		}
	}
	o, err := objects.Get(t.Context(), "cluster", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o.SetResourceVersion("1")
	if err := unstructured.SetNestedField(o.Object, true, "spec", "paused"); err != nil {
		t.Fatal(err)
	}
	if _, err := objects.Update(t.Context(), o, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("an update of an old version: %v", err)
	}
	if state := must(t)(client.Get(t.Context())); state.Paused {
		t.Error("it has paused the clock")
	}
	onReal, _ := startOn(t, 0)
	if _, err := patchClock(t.Context(), clockObjects(t, onReal), `{"paused":true}`); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "the cluster's clock is real and cannot be controlled") {
		t.Errorf("a real clock is refused with %v", err)
	}
}

// A watch shows each change, and virtual time passes while it lasts.
func TestClockObjectWatch(t *testing.T) {
	cluster, client := startOn(t, 1)
	must(t)(client.Pause(t.Context()))
	objects := clockObjects(t, cluster)
	list, err := objects.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := objects.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	later := cluster.Clock().Now().Add(24 * time.Hour).UTC().Truncate(time.Second).Format(time.RFC3339)
	if _, err := patchClock(t.Context(), objects, `{"advanceTo":"`+later+`"}`); err != nil {
		t.Fatal(err)
	}
	for event := range watcher.ResultChan() {
		o, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type != watch.Modified {
			t.Fatalf("the watch sends %s %v", event.Type, event.Object)
		}
		if stringOf(t, o, "status.time") >= later {
			return
		}
	}
	t.Error("the watch ended before the day had passed")
}

// A watch of the Clock lasts for the machine's time, whatever passes in the cluster, and sets no timer of its clock.
func TestClockObjectWatchLasts(t *testing.T) {
	cluster, client := startOn(t, 1)
	must(t)(client.Pause(t.Context()))
	before := must(t)(client.Get(t.Context()))
	objects := clockObjects(t, cluster)
	hour := int64(3600)
	watcher, err := objects.Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: &hour})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	if now := must(t)(client.Get(t.Context())); !now.NextTimer.Equal(*before.NextTimer) {
		t.Errorf("before, the next timer was due at %v, and at %v while it lasts", before.NextTimer, now.NextTimer)
	}
	must(t)(client.Advance(t.Context(), 48*time.Hour))
	if _, err := patchClock(t.Context(), objects, `{"speed":3}`); err != nil {
		t.Fatal(err)
	}
	for event := range watcher.ResultChan() {
		if o, ok := event.Object.(*unstructured.Unstructured); ok {
			if speed, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "speed"); fmt.Sprint(speed) == "3" {
				return
			}
		}
	}
	t.Error("the watch ended with two days of the cluster's time")
}

// The Clock can be applied server-side, by one owner of each field, and has its place in discovery.
func TestClockObjectApply(t *testing.T) {
	cluster, client := startOn(t, 1)
	objects := clockObjects(t, cluster)
	apply := func(manager string, speed int64) error {
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": clocks.GroupVersion().String(), "kind": "Clock", "metadata": map[string]any{"name": "cluster"}, "spec": map[string]any{"speed": speed},
		}}
		_, err := objects.Apply(t.Context(), "cluster", o, metav1.ApplyOptions{FieldManager: manager})
		return err
	}
	if err := apply("teacher", 10); err != nil {
		t.Fatal(err)
	}
	if err := apply("pupil", 20); !apierrors.IsConflict(err) {
		t.Errorf("another manager applies another speed: %v", err)
	}
	if state := must(t)(client.Get(t.Context())); state.Factor != 10 {
		t.Errorf("the clock is %+v", state)
	}
	resources, err := cluster.Client().Discovery().ServerResourcesForGroupVersion(clocks.GroupVersion().String())
	if err != nil || len(resources.APIResources) != 1 || resources.APIResources[0].Kind != "Clock" {
		t.Errorf("discovery has %v, %v", resources, err)
	}
}

// The Clock is there while the store is not.
func TestClockObjectWithoutStore(t *testing.T) {
	cluster, client := startOn(t, 1, func(o *minikcm.Options) { o.Faults.Store = true })
	must(t)(client.Pause(t.Context()))
	defer cluster.StoreFaults().Inject(minikcm.StoreUnavailable())()
	if _, err := cluster.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{}); err == nil {
		t.Error("the store is not away")
	}
	objects := clockObjects(t, cluster)
	if _, err := patchClock(t.Context(), objects, `{"paused":false}`); err != nil {
		t.Fatal(err)
	}
	if o, err := objects.Get(t.Context(), "cluster", metav1.GetOptions{}); err != nil || isTrue(t, o, "status.paused") {
		t.Errorf("the Clock is %v, %v", o, err)
	}
}
