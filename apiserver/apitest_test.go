package apiserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience limits a test, so that one that hangs fails. Under the race detector, on processors
// that others use as well, a test can take a minute.
const patience = 5 * time.Minute

// authority is generated once for all tests, because generating keys is slow.
var authority = sync.OnceValues(func() (*auth.Authority, error) {
	return auth.NewAuthority("test-ca", clock.Real().Now())
})

// harness is a server with its own store, and its clients.
type harness struct {
	t      testing.TB
	ctx    context.Context // the test's
	store  store.Store
	ledger *clock.Ledger
	server *apiserver.Server
	https  func() *apiserver.HTTPS
	stall  time.Duration // of the HTTPS listener
}

// start returns a server that lives as long as the test; change modifies its options.
func start(t testing.TB, change ...func(*apiserver.Options)) *harness {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	h := &harness{t: t, ctx: ctx, store: store.NewMemory(), ledger: clock.NewLedger()}
	opts := apiserver.Options{
		Store: h.store, Ledger: h.ledger, Random: clock.NewRandom(1), Logger: klog.Background(), CompactionInterval: -1,
	}
	for _, c := range change {
		c(&opts)
	}
	h.store = opts.Store
	server, err := apiserver.New(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	h.server = server
	h.giveServiceAccount()
	// Wait for the objects that the server writes in the background, so that they do not
	// interfere.
	if err := opts.Ledger.WaitIdle(ctx); err != nil {
		t.Fatal(err)
	}
	var listener *apiserver.HTTPS
	h.https = sync.OnceValue(func() *apiserver.HTTPS {
		ca, err := authority()
		if err != nil {
			t.Fatal(err)
		}
		if listener, err = server.Listen(ctx, apiserver.ListenOptions{Authority: ca, Stall: h.stall}); err != nil {
			t.Fatal(err)
		}
		return listener
	})
	t.Cleanup(func() {
		server.Close()
		if listener != nil {
			listener.Close()
		}
		if err := h.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// allowAll is an option of start: every authenticated user may do everything.
func allowAll(o *apiserver.Options) {
	o.AuthorizationModes = []string{apiserver.AuthorizeAlways}
}

// giveServiceAccount creates the default service account, as a controller does in a
// cluster: without it, the namespace default accepts no pods.
func (h *harness) giveServiceAccount() {
	h.t.Helper()
	client, err := kubernetes.NewForConfig(h.server.Config("tester", auth.GroupMasters))
	if err != nil {
		h.t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, err = client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Create(h.ctx, account, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		h.t.Fatal(err)
	}
}

// startVirtual is start with a virtual clock.
func startVirtual(t testing.TB, change ...func(*apiserver.Options)) (*harness, *clock.Virtual) {
	t.Helper()
	ledger := clock.NewLedger()
	virtual := clock.NewVirtual(clock.Real().Now(), ledger)
	t.Cleanup(virtual.Close)
	h := start(t, append(change, func(o *apiserver.Options) { o.Clock, o.Ledger = virtual, ledger })...)
	h.ledger = ledger
	return h, virtual
}

// advance advances the cluster's time.
func (h *harness) advance(v *clock.Virtual, d time.Duration) {
	h.t.Helper()
	if err := v.Advance(h.ctx, d); err != nil {
		h.t.Fatal(err)
	}
}

// wire is a way to reach the server.
type wire struct {
	name   string
	config func(*harness) *rest.Config
}

func inMemory() wire {
	return wire{"memory", func(h *harness) *rest.Config {
		return apiserver.Protobuf(h.server.Config("tester", auth.GroupMasters))
	}}
}

func overHTTPS() wire {
	return wire{"https", func(h *harness) *rest.Config {
		h.t.Helper()
		return h.certified("tester", auth.GroupMasters)
	}}
}

// certified returns the configuration of an HTTPS client with the certificate of a user.
func (h *harness) certified(user string, groups ...string) *rest.Config {
	h.t.Helper()
	ca, err := authority()
	if err != nil {
		h.t.Fatal(err)
	}
	pair, err := ca.Client(user, groups...)
	if err != nil {
		h.t.Fatal(err)
	}
	key, err := pair.KeyPEM()
	if err != nil {
		h.t.Fatal(err)
	}
	return &rest.Config{
		Host: "https://" + h.https().Address(), QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: ca.CertPEM(), CertData: pair.CertPEM(), KeyData: key},
	}
}

// overHTTP1 is HTTPS without HTTP/2: watches are chunked.
func overHTTP1() wire {
	return wire{"http1", func(h *harness) *rest.Config {
		cfg := overHTTPS().config(h)
		cfg.NextProtos = []string{"http/1.1"}
		return cfg
	}}
}

// wires runs a test over every way to reach a server, each with its own server.
func wires(t *testing.T, test func(t *testing.T, h *harness, cfg *rest.Config), change ...func(*apiserver.Options)) {
	for _, w := range []wire{inMemory(), overHTTPS(), overHTTP1()} {
		t.Run(w.name, func(t *testing.T) {
			h := start(t, change...)
			test(t, h, w.config(h))
		})
	}
}

// httpClient returns a client of cfg whose connections are closed after the test.
func (h *harness) httpClient(cfg *rest.Config) *http.Client {
	h.t.Helper()
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(client.Transport) })
	return client
}

// client returns a clientset; in memory if no configuration is given.
func (h *harness) client(cfg ...*rest.Config) *kubernetes.Clientset {
	h.t.Helper()
	if len(cfg) == 0 {
		cfg = append(cfg, inMemory().config(h))
	}
	client, err := kubernetes.NewForConfigAndClient(cfg[0], h.httpClient(cfg[0]))
	if err != nil {
		h.t.Fatal(err)
	}
	return client
}

// reply is a response to a raw request.
type reply struct {
	code   int
	header http.Header
	body   []byte
}

// status reads the body as a Status.
func (r *reply) status(t testing.TB) *metav1.Status {
	t.Helper()
	s := &metav1.Status{}
	if err := json.Unmarshal(r.body, s); err != nil || s.Kind != "Status" {
		t.Fatalf("the answer (%d) is no Status: %v\n%s", r.code, err, r.body)
	}
	return s
}

// into reads the body as JSON.
func (r *reply) into(t testing.TB, obj any) {
	t.Helper()
	if err := json.Unmarshal(r.body, obj); err != nil {
		t.Fatalf("reading the answer (%d): %v\n%s", r.code, err, r.body)
	}
}

// raw makes a request that client-go would not make, or whose response the test needs
// unchanged. headers are alternating names and values.
func (h *harness) raw(cfg *rest.Config, method, path, body string, headers ...string) *reply {
	h.t.Helper()
	resp := h.open(h.ctx, cfg, method, path, body, headers...)
	defer resp.Body.Close() // read to its end
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatalf("%s %s: reading the answer: %v", method, path, err)
	}
	return &reply{resp.StatusCode, resp.Header, data}
}

// open makes a request and leaves the response's body unread.
func (h *harness) open(ctx context.Context, cfg *rest.Config, method, path, body string, headers ...string) *http.Response {
	h.t.Helper()
	resp, err := h.try(ctx, cfg, method, path, body, headers...)
	if err != nil {
		h.t.Fatal(err)
	}
	return resp
}

func (h *harness) try(ctx context.Context, cfg *rest.Config, method, path, body string, headers ...string) (*http.Response, error) {
	h.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, cfg.Host+path, reader)
	if err != nil {
		h.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return h.httpClient(cfg).Do(req)
}

// send is raw in memory.
func (h *harness) send(method, path, body string, headers ...string) *reply {
	h.t.Helper()
	return h.raw(inMemory().config(h), method, path, body, headers...)
}

// mustSend is send, and fails the test unless the response has a success code.
func (h *harness) mustSend(method, path, body string, headers ...string) *reply {
	h.t.Helper()
	r := h.send(method, path, body, headers...)
	if r.code >= 300 {
		h.t.Fatalf("%s %s: %d\n%s", method, path, r.code, r.body)
	}
	return r
}

// idle waits until nothing is in flight.
func (h *harness) idle() {
	h.t.Helper()
	if err := h.ledger.WaitIdle(h.ctx); err != nil {
		h.t.Fatalf("the ledger does not become idle: %v", err)
	}
}

// must returns a function that returns value, or fails the test on an error. It is for errors
// that are not under test.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func configMap(name string, data ...string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	for i := 0; i < len(data); i += 2 {
		if cm.Data == nil {
			cm.Data = map[string]string{}
		}
		cm.Data[data[i]] = data[i+1]
	}
	return cm
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}}},
	}
}

// asJSON returns an object as it is sent.
func asJSON(t testing.TB, obj any) string {
	t.Helper()
	var buf bytes.Buffer
	if err := json.NewEncoder(&buf).Encode(obj); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

// wantStatus fails the test unless err is an API error with the given code and reason,
// whose message contains text.
func wantStatus(t testing.TB, err error, code int32, reason metav1.StatusReason, text string) *metav1.Status {
	t.Helper()
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		t.Fatalf("want a Status %d %s, got %v", code, reason, err)
	}
	s := status.Status()
	if s.Code != code || s.Reason != reason || !strings.Contains(s.Message, text) {
		t.Fatalf("want a Status %d %s with %q,\ngot %d %s %q", code, reason, text, s.Code, s.Reason, s.Message)
	}
	return &s
}

// wantReply is wantStatus for a raw response.
func wantReply(t testing.TB, r *reply, code int32, reason metav1.StatusReason, text string) *metav1.Status {
	t.Helper()
	if r.code != int(code) {
		t.Fatalf("want %d %s, got %d\n%s", code, reason, r.code, r.body)
	}
	return wantStatus(t, &apierrors.StatusError{ErrStatus: *r.status(t)}, code, reason, text)
}
