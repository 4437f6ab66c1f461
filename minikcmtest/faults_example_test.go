package minikcmtest_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
)

func note(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

// testAPIFaults injects errors, dropped watches and an outage of the API server.
func testAPIFaults(t *testing.T) {
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithFaults())
	const user = "system:serviceaccount:garden:operator"
	maps := kubernetes.NewForConfigOrDie(c.ConfigFor(user, "system:masters")).CoreV1().ConfigMaps("default")
	operator := minikcm.APIFaultMatch{Users: []string{user}, Verbs: []string{"create", "update"}, Resources: []string{"configmaps"}}

	// Every write fails. With Share: 0.3, three of ten would fail; the seed selects them.
	remove := c.APIFaults().Inject(minikcm.APIFault{Match: operator, Code: 503})
	if _, err := maps.Create(t.Context(), note("refused"), metav1.CreateOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("a refused write: %v", err)
	}
	remove()

	// Every update fails with a conflict.
	remove = c.APIFaults().Inject(minikcm.APIFault{Match: operator, Code: 409})
	if _, err := maps.Update(t.Context(), note("contended"), metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("a contended write: %v", err)
	}
	remove()

	// Watches end and their resource versions expire: informers have to list again.
	c.APIFaults().DropWatches(minikcm.APIFaultMatch{Resources: []string{"pods"}}, 0)
	if err := c.ForgetHistory(t.Context()); err != nil {
		t.Fatal(err)
	}

	// The server is unreachable for ten seconds.
	up := c.APIFaults().Down()
	if err := c.Advance(t.Context(), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Create(t.Context(), note("unreached"), metav1.CreateOptions{}); err == nil {
		t.Error("a server that is down answers")
	}
	up()
	if _, err := maps.Create(t.Context(), note("reached"), metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

// testFailedCalls lets single calls fail, as an interceptor of a fake client does.
func testFailedCalls(t *testing.T) {
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithFaults())
	const user = "system:serviceaccount:garden:operator"
	maps := kubernetes.NewForConfigOrDie(c.ConfigFor(user, "system:masters")).CoreV1().ConfigMaps("default")
	resource := corev1.Resource("configmaps")
	end := c.FailCalls(
		// The second update of the object fails with a conflict.
		minikcmtest.APICall{Verb: "update", Resource: "configmaps", Namespace: "default", Name: "plan", Nth: 2, Err: apierrors.NewConflict(resource, "plan", errors.New("the object has been modified"))},
		// The other one must not be created.
		minikcmtest.APICall{Verb: "create", Resource: "configmaps", Name: "diary", Err: apierrors.NewForbidden(resource, "diary", errors.New("it is private"))},
		// Everything that the operator reads takes three seconds.
		minikcmtest.APICall{Verb: "get", User: user, Delay: 3 * time.Second},
	)
	plan, err := maps.Create(t.Context(), note("plan"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, conflict := range []bool{false, true, false} {
		plan.Data = map[string]string{"step": strconv.Itoa(i)}
		updated, err := maps.Update(t.Context(), plan, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) != conflict || err != nil && !conflict {
			t.Errorf("update %d: %v", i+1, err)
		}
		if err == nil {
			plan = updated
		}
	}
	if _, err := maps.Create(t.Context(), note("diary"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("creating the diary: %v", err)
	}
	end()
	if _, err := maps.Create(t.Context(), note("diary"), metav1.CreateOptions{}); err != nil {
		t.Errorf("creating the diary later: %v", err)
	}
}

// testStoreFaults makes etcd unavailable to some writes, and then full.
func testStoreFaults(t *testing.T) {
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithFaults())
	maps := c.Client().CoreV1().ConfigMaps("default")
	fault := minikcm.StoreUnavailable()
	fault.Requests = true                      // only operations of API requests
	fault.Operations = minikcm.StoreWrites     // only writes
	fault.Prefix = "/registry/configmaps/shop" // only keys with this prefix
	remove := c.StoreFaults().Inject(fault)
	if _, err := maps.Create(t.Context(), note("elsewhere"), metav1.CreateOptions{}); err != nil {
		t.Errorf("a write to other keys: %v", err)
	}
	remove()
	remove = c.StoreFaults().InjectFor(minikcm.StoreNoSpace(), time.Hour) // or until remove is called
	if _, err := maps.Create(t.Context(), note("too-much"), metav1.CreateOptions{}); err == nil {
		t.Error("a full store takes more")
	}
	remove()
}

// testControllerFaults pauses and crashes one of the cluster's own controllers, to test an
// operator that relies on it.
func testControllerFaults(t *testing.T) {
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	resume, err := c.Manager().Pause("namespace-controller")
	if err != nil {
		t.Fatal(err)
	}
	namespaces := c.Client().CoreV1().Namespaces()
	if _, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := namespaces.Delete(t.Context(), "shop", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Advance(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if shop, err := namespaces.Get(t.Context(), "shop", metav1.GetOptions{}); err != nil || shop.Status.Phase != corev1.NamespaceTerminating {
		t.Errorf("without its controller, the namespace is %v, %v", shop.Status.Phase, err)
	}
	resume()
	if err := c.Manager().Crash("deployment-controller"); err != nil { // it restarts after a second
		t.Fatal(err)
	}
	if err := c.Advance(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, err := namespaces.Get(t.Context(), "shop", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("with its controller, the namespace: %v", err)
	}
}

// Tests with faults of the API server, the store and a controller. TestExample calls the
// functions.
func Example_faults() {
	var t *testing.T
	testAPIFaults(t)
	testFailedCalls(t)
	testStoreFaults(t)
	testControllerFaults(t)
}
