package minikcmapi

import (
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/accessapi"
	"minikcm.dev/minikcm/minikcmtest"
)

// An AccessRecording records from its creation to its deletion, and has the roles that the user needs.
func TestAccessRecordingObject(t *testing.T) {
	t.Parallel()
	cluster := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.API.Extensions = []minikcm.Extension{accessapi.Extension()}
	}))
	recordings := kindClient(t, cluster.Cluster, "accessrecordings")
	eve, err := kubernetes.NewForConfig(cluster.ConfigFor("eve", "system:authenticated"))
	if err != nil {
		t.Fatal(err)
	}
	secrets := func() error {
		_, err := eve.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
		return err
	}
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	if _, err := recordings.Create(t.Context(), objectOf(t, "AccessRecording", "eves", "user: eve"), dry); err != nil {
		t.Error(err)
	}
	if err := secrets(); !apierrors.IsForbidden(err) {
		t.Errorf("after a dry run the user may list secrets: %v", err)
	}
	create(t, recordings, objectOf(t, "AccessRecording", "eves", "user: eve"))
	if err := secrets(); err != nil {
		t.Errorf("while it records the user may not list secrets: %v", err)
	}
	o := until(t, recordings, "eves", func(o *unstructured.Unstructured) bool {
		n, _, _ := unstructured.NestedInt64(o.Object, "status", "requests")
		return n == 1
	})
	roles, _, err := unstructured.NestedSlice(o.Object, "status", "roles")
	if err != nil || len(roles) != 1 {
		t.Fatalf("it has %v, %v", o.Object["status"], err)
	}
	role := roles[0].(map[string]any)
	if rule := role["rules"].([]any)[0].(map[string]any); role["namespace"] != "default" || rule["resources"].([]any)[0] != "secrets" || rule["verbs"].([]any)[0] != "list" {
		t.Errorf("the role is %v", role)
	}
	for _, opts := range []metav1.CreateOptions{{}, dry} {
		if _, err := recordings.Create(t.Context(), objectOf(t, "AccessRecording", "again", "user: eve"), opts); !apierrors.IsConflict(err) {
			t.Errorf("a second recording %v: %v", opts.DryRun, err)
		}
		for _, spec := range []string{"{}", "user: ''", "user: 5", "{user: a, enforce: x}"} {
			if _, err := recordings.Create(t.Context(), objectOf(t, "AccessRecording", "bad", spec), opts); !apierrors.IsInvalid(err) {
				t.Errorf("%s %v: %v", spec, opts.DryRun, err)
			}
		}
	}
	if _, err := recordings.Patch(t.Context(), "eves", types.MergePatchType, []byte(`{"spec":{"enforce":true}}`), metav1.PatchOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("another spec: %v", err)
	}
	if err := recordings.Delete(t.Context(), "eves", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := secrets(); !apierrors.IsForbidden(err) {
		t.Errorf("after its end the user may list secrets: %v", err)
	}
	b := &bench{Cluster: cluster, t: t}
	streamed := make(chan int)
	go func() { // in the process, the response comes at its end
		res := b.send(b.Config(), http.MethodPost, accessapi.Path+"?user=eve&enforce=true", "")
		_ = res.Body.Close()
		streamed <- res.StatusCode
	}()
	o = until(t, recordings, "1", func(*unstructured.Unstructured) bool { return true })
	if stringOf(t, o, "spec.user") != "eve" || !isTrue(t, o, "spec.enforce") {
		t.Errorf("a recording of a request is shown as %v", o)
	}
	if err := recordings.Delete(t.Context(), "1", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if code := <-streamed; code != http.StatusCreated {
		t.Errorf("the request is answered with %d", code)
	}
	create(t, recordings, objectOf(t, "AccessRecording", "last", "{user: eve, enforce: true}")) // the cluster ends it
}
