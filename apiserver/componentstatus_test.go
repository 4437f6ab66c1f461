package apiserver_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver"
)

// warned is a client's warning handler that records the warnings.
type warned struct {
	mu    sync.Mutex
	texts []string
}

func (w *warned) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

func (w *warned) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.texts = nil }()
	return slices.Clone(w.texts)
}

// warnedClient returns a client of a config and the warnings that it gets.
func warnedClient(t *testing.T, config *rest.Config) (kubernetes.Interface, *warned) {
	t.Helper()
	w := &warned{}
	config.WarningHandler = w
	return must(kubernetes.NewForConfig(config))(t), w
}

func TestComponentStatuses(t *testing.T) {
	h := start(t, func(o *apiserver.Options) {
		o.Scheduler = func() error { return nil }
		o.Controllers = func() error { return errors.New("none is selected") }
	})
	client, warnings := warnedClient(t, h.server.Config("alice", "system:masters"))
	list := must(client.CoreV1().ComponentStatuses().List(h.ctx, metav1.ListOptions{}))(t)
	var got []string
	for _, c := range list.Items {
		got = append(got, c.Name+" "+string(c.Conditions[0].Status)+" "+c.Conditions[0].Message)
	}
	want := []string{"scheduler True ok", "controller-manager False none is selected", "etcd-0 True ok"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"v1 ComponentStatus is deprecated in v1.19+"}, warnings.take()); diff != "" {
		t.Errorf("warnings: -want +got:\n%s", diff)
	}
	one := must(client.CoreV1().ComponentStatuses().Get(h.ctx, "etcd-0", metav1.GetOptions{}))(t)
	if one.Conditions[0].Type != corev1.ComponentHealthy {
		t.Errorf("got %+v", one.Conditions)
	}
	if _, err := client.CoreV1().ComponentStatuses().Get(h.ctx, "missing", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a missing component: %v", err)
	}
	if err := client.CoreV1().ComponentStatuses().Delete(h.ctx, "etcd-0", metav1.DeleteOptions{}); !apierrors.IsMethodNotSupported(err) {
		t.Errorf("delete: %v", err)
	}
}

// TestEndpointsWarn checks that users of Endpoints get a warning to use EndpointSlices,
// except the components that maintain Endpoints.
func TestEndpointsWarn(t *testing.T) {
	h := start(t)
	const text = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
	for user, want := range map[string][]string{"alice": {text}, "system:kube-controller-manager": nil} {
		client, warnings := warnedClient(t, h.server.Config(user, "system:masters"))
		must(client.CoreV1().Endpoints("default").List(h.ctx, metav1.ListOptions{}))(t)
		if diff := cmp.Diff(want, warnings.take()); diff != "" {
			t.Errorf("%s: list: -want +got:\n%s", user, diff)
		}
		w := must(client.CoreV1().Endpoints("default").Watch(h.ctx, metav1.ListOptions{}))(t)
		w.Stop()
		if diff := cmp.Diff(want, warnings.take()); diff != "" {
			t.Errorf("%s: watch: -want +got:\n%s", user, diff)
		}
	}
}
