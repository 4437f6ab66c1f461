package faultapi

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
	"minikcm.dev/minikcm/scenarios/fault"
)

// bench is a cluster that can be broken, on virtual time.
type bench struct {
	*minikcmtest.Cluster
	t      *testing.T
	client *Client
}

func newBench(t *testing.T, opts ...minikcmtest.Option) *bench {
	t.Helper()
	breakable := minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Faults.API, o.Faults.Store = true, true
		o.API.Extensions = []minikcm.Extension{Extension(Options{})}
	})
	b := &bench{t: t, Cluster: minikcmtest.New(t, append([]minikcmtest.Option{minikcmtest.WithVirtualTime(), breakable, minikcmtest.WithNodes(3)}, opts...)...)}
	var err error
	if b.client, err = NewClient(b.Config()); err != nil {
		t.Fatal(err)
	}
	return b
}

// parse reads one fault.
func parse(t *testing.T, text string) *fault.Fault {
	t.Helper()
	faults, err := fault.Parse("fault", []byte(text))
	if err != nil || len(faults) != 1 {
		t.Fatalf("%s: %v", text, err)
	}
	return faults[0]
}

// inject begins a fault and returns its ID.
func (b *bench) inject(text string) string {
	b.t.Helper()
	injection, err := b.client.Inject(b.t.Context(), parse(b.t, text))
	if err != nil {
		b.t.Fatal(err)
	}
	return injection.ID
}

// want waits, without letting time pass, until a fault has a state, and returns it.
func (b *bench) want(id string, state State) *Injection {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	reached := errStopped // any will do
	last, err := b.client.Follow(ctx, id, func(i *Injection) error {
		if i.State == state {
			return reached
		}
		return nil
	})
	if last == nil || last.State != state {
		b.t.Fatalf("the fault is %+v, want it to be %s: %v", last, state, err)
	}
	return last
}

func (b *bench) advance(d time.Duration) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	if err := b.Advance(ctx, d); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) node(name string) *corev1.Node {
	b.t.Helper()
	node, err := b.Client().CoreV1().Nodes().Get(b.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return node
}

func (b *bench) ready(name string) corev1.ConditionStatus {
	b.t.Helper()
	for _, c := range b.node(name).Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}

// send makes a request as it is, and returns the answer's status, headers and body.
func send(t *testing.T, config *rest.Config, method, path, body string) (code int, header http.Header, answer string) {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, config.Host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() // it is only read
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(data)
}
