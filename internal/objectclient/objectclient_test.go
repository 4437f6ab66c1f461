package objectclient

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/internal/envelope"
)

// server answers each request with the next answer, and the last one again, and keeps the requests.
type server struct {
	answers []func(*http.Request) (*http.Response, error)
	got     []request
}

type request struct {
	Method, URL, Host string
	Header            http.Header
	Length            int64
	Body              []byte
}

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	r := request{Method: req.Method, URL: req.URL.String(), Host: req.URL.Host, Header: req.Header.Clone(), Length: req.ContentLength}
	if req.Body != nil {
		r.Body, _ = io.ReadAll(req.Body)
		_ = req.Body.Close()
	}
	s.got = append(s.got, r)
	return s.answers[min(len(s.got), len(s.answers))-1](req)
}

// answering returns an answer with a body.
func answering(code int, mediaType string, body []byte, header ...string) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {mediaType}}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: code, Header: h, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)), Request: req}, nil
	}
}

func document(t *testing.T, kind schema.GroupVersionKind, obj envelope.Message) []byte {
	t.Helper()
	e := envelope.New(kind, obj)
	data := make([]byte, e.Length)
	if err := e.WriteTo(data); err != nil {
		t.Fatal(err)
	}
	return data
}

func configFor(s *server) *rest.Config {
	return &rest.Config{Host: "http://cluster.invalid/below", Transport: s, QPS: -1, UserAgent: "test", ContentConfig: rest.ContentConfig{
		ContentType: runtime.ContentTypeProtobuf, AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json",
	}}
}

// outcome has the result that a caller gets from a call, and the requests that the server gets.
type outcome struct {
	Object   any
	Err      string
	Requests []request
}

// call calls do with client-go's clientset and with ours.
func call(t *testing.T, answers []func(*http.Request) (*http.Response, error), do func(kubernetes.Interface) (any, error)) (want, got outcome) {
	t.Helper()
	run := func(makeClient func(*rest.Config) (kubernetes.Interface, error)) outcome {
		s := &server{answers: answers}
		client, err := makeClient(configFor(s))
		if err != nil {
			t.Fatal(err)
		}
		o := outcome{}
		o.Object, err = do(client)
		if err != nil {
			o.Object, o.Err = nil, err.Error()
			if status := apierrors.APIStatus(nil); errors.As(err, &status) {
				o.Object = status.Status()
			}
		}
		o.Requests = s.got
		return o
	}
	want = run(func(c *rest.Config) (kubernetes.Interface, error) { return kubernetes.NewForConfig(c) })
	got = run(func(c *rest.Config) (kubernetes.Interface, error) {
		client, err := NewForConfig(c)
		if Of(client) == nil {
			t.Error("the short way is not taken")
		}
		return client, err
	})
	return want, got
}

var (
	podKind = corev1.SchemeGroupVersion.WithKind("Pod")
	pod     = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{NodeName: "n"}}
)

// Each method sends what client-go sends, and returns what it returns.
func TestRequests(t *testing.T) {
	ctx := context.Background()
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "web.1", Namespace: "shop"}, Reason: "Pulled", Count: 1}
	series := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Name: "web.1", Namespace: "shop"}, Reason: "Scheduled"}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "n", Namespace: "kube-node-lease"}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	nodeKind, eventKind := corev1.SchemeGroupVersion.WithKind("Node"), corev1.SchemeGroupVersion.WithKind("Event")
	force := true
	for name, test := range map[string]struct {
		code   int
		answer []byte
		do     func(kubernetes.Interface) (any, error)
	}{
		"create pod": {201, document(t, podKind, pod), func(c kubernetes.Interface) (any, error) {
			return c.CoreV1().Pods("shop").Create(ctx, pod, metav1.CreateOptions{})
		}},
		"create pod with a manager": {201, document(t, podKind, pod), func(c kubernetes.Interface) (any, error) {
			return c.CoreV1().Pods("shop").Create(ctx, pod, metav1.CreateOptions{FieldManager: "a b&c"})
		}},
		"dry run": {201, document(t, podKind, pod), func(c kubernetes.Interface) (any, error) {
			return c.CoreV1().Pods("shop").Create(ctx, pod, metav1.CreateOptions{DryRun: []string{"All"}})
		}},
		"update pod": {200, document(t, podKind, pod), func(c kubernetes.Interface) (any, error) {
			return c.CoreV1().Pods("shop").Update(ctx, pod, metav1.UpdateOptions{})
		}},
		"update status": {200, document(t, podKind, pod), func(c kubernetes.Interface) (any, error) {
			return c.CoreV1().Pods("shop").UpdateStatus(ctx, pod, metav1.UpdateOptions{FieldManager: "kubelet"})
		}},
		"get pod": {200, document(t, podKind, pod), func(c kubernetes.Interface) (any, error) {
			return c.CoreV1().Pods("shop").Get(ctx, "web", metav1.GetOptions{})
		}},
		"get pod at a revision": {200, document(t, podKind, pod), func(c kubernetes.Interface) (any, error) {
			return c.CoreV1().Pods("shop").Get(ctx, "web", metav1.GetOptions{ResourceVersion: "0"})
		}},
		"a name to escape": {200, document(t, podKind, pod), func(c kubernetes.Interface) (any, error) {
			return c.CoreV1().Pods("shop").Get(ctx, "a b?c:d", metav1.GetOptions{})
		}},
		"no name": {200, document(t, podKind, pod), func(c kubernetes.Interface) (any, error) {
			return c.CoreV1().Pods("shop").Get(ctx, "", metav1.GetOptions{})
		}},
		"a name with a slash": {200, document(t, podKind, pod), func(c kubernetes.Interface) (any, error) {
			return c.CoreV1().Pods("shop").Get(ctx, "../secrets", metav1.GetOptions{})
		}},
		"no namespace": {404, nil, func(c kubernetes.Interface) (any, error) {
			return c.CoreV1().Pods("").Create(ctx, pod, metav1.CreateOptions{})
		}},
		"patch": {200, document(t, podKind, pod), func(c kubernetes.Interface) (any, error) {
			return c.CoreV1().Pods("shop").Patch(ctx, "web", types.MergePatchType, []byte(`{"metadata":{}}`), metav1.PatchOptions{})
		}},
		"patch status": {200, document(t, podKind, pod), func(c kubernetes.Interface) (any, error) {
			return c.CoreV1().Pods("shop").Patch(ctx, "web", types.StrategicMergePatchType, []byte(`{"status":{}}`), metav1.PatchOptions{FieldManager: "x"}, "status")
		}},
		"apply": {200, document(t, podKind, pod), func(c kubernetes.Interface) (any, error) {
			return c.CoreV1().Pods("shop").Patch(ctx, "web", types.ApplyPatchType, []byte(`{}`), metav1.PatchOptions{FieldManager: "x", Force: &force})
		}},
		"bind": {201, document(t, schema.GroupVersionKind{Version: "v1", Kind: "Status"}, &metav1.Status{Status: "Success"}), func(c kubernetes.Interface) (any, error) {
			return nil, c.CoreV1().Pods("shop").Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}, metav1.CreateOptions{})
		}},
		"node status": {200, document(t, nodeKind, node), func(c kubernetes.Interface) (any, error) {
			return c.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		}},
		"event": {201, document(t, eventKind, event), func(c kubernetes.Interface) (any, error) {
			return c.CoreV1().Events("shop").Create(ctx, event, metav1.CreateOptions{FieldManager: "kubelet"})
		}},
		"series": {201, document(t, eventsv1.SchemeGroupVersion.WithKind("Event"), series), func(c kubernetes.Interface) (any, error) {
			return c.EventsV1().Events("shop").Create(ctx, series, metav1.CreateOptions{})
		}},
		"lease": {200, document(t, coordinationv1.SchemeGroupVersion.WithKind("Lease"), lease), func(c kubernetes.Interface) (any, error) {
			return c.CoordinationV1().Leases("kube-node-lease").Update(ctx, lease, metav1.UpdateOptions{})
		}},
		"another kind in the answer": {200, document(t, nodeKind, node), func(c kubernetes.Interface) (any, error) {
			return c.CoreV1().Pods("shop").Get(ctx, "web", metav1.GetOptions{})
		}},
		"a damaged answer": {200, document(t, podKind, pod)[:30], func(c kubernetes.Interface) (any, error) {
			return c.CoreV1().Pods("shop").Get(ctx, "web", metav1.GetOptions{})
		}},
		"delete": {200, document(t, podKind, pod), func(c kubernetes.Interface) (any, error) {
			return nil, c.CoreV1().Pods("shop").Delete(ctx, "web", metav1.DeleteOptions{})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			want, got := call(t, []func(*http.Request) (*http.Response, error){answering(test.code, runtime.ContentTypeProtobuf, test.answer)}, test.do)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-client-go +ours):\n%s", diff)
			}
		})
	}
}

// What follows an answer that is not a success is client-go's, and nothing is sent twice.
func TestAnswers(t *testing.T) {
	status := func(code int32, reason metav1.StatusReason, message string) []byte {
		return document(t, schema.GroupVersionKind{Version: "v1", Kind: "Status"}, &metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message})
	}
	ok := answering(200, runtime.ContentTypeProtobuf, document(t, podKind, pod))
	type answer = func(*http.Request) (*http.Response, error)
	for name, answers := range map[string][]answer{
		"conflict":            {answering(409, runtime.ContentTypeProtobuf, status(409, metav1.StatusReasonConflict, "changed"))},
		"not found":           {answering(404, runtime.ContentTypeProtobuf, status(404, metav1.StatusReasonNotFound, "gone"))},
		"plain text":          {answering(502, "text/plain", []byte("bad gateway"))},
		"wait and try again":  {answering(429, runtime.ContentTypeProtobuf, status(429, metav1.StatusReasonTooManyRequests, "later"), "Retry-After", "0"), ok},
		"unavailable":         {answering(503, runtime.ContentTypeProtobuf, status(503, metav1.StatusReasonServiceUnavailable, "later"), "Retry-After", "0"), ok},
		"no connection":       {func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }},
		"JSON":                {answering(200, "application/json", []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web"}}`))},
		"a warning":           {answering(200, runtime.ContentTypeProtobuf, document(t, podKind, pod), "Warning", `299 - "deprecated"`)},
		"a body that ends":    {func(req *http.Request) (*http.Response, error) { r, _ := ok(req); r.ContentLength += 10; return r, nil }},
		"a body without size": {func(req *http.Request) (*http.Response, error) { r, _ := ok(req); r.ContentLength = -1; return r, nil }},
	} {
		t.Run(name, func(t *testing.T) {
			want, got := call(t, answers, func(c kubernetes.Interface) (any, error) {
				return c.CoreV1().Pods("shop").UpdateStatus(context.Background(), pod, metav1.UpdateOptions{})
			})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-client-go +ours):\n%s", diff)
			}
		})
	}
}

// A configuration that limits rates or times, or prefers JSON, is left to client-go.
func TestConfigurations(t *testing.T) {
	for name, change := range map[string]func(*rest.Config){
		"rates": func(c *rest.Config) { c.QPS, c.Burst = 5, 10 },
		"times": func(c *rest.Config) { c.Timeout = 1 },
		"JSON":  func(c *rest.Config) { c.ContentType = runtime.ContentTypeJSON },
	} {
		config := configFor(&server{})
		change(config)
		client, err := NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		if Of(client) != nil {
			t.Errorf("%s: the short way is taken", name)
		}
	}
}
