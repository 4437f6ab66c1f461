package sharing_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	fakeclient "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/fence"
	"minikcm.dev/minikcm/internal/members"
	"minikcm.dev/minikcm/internal/sharing"
)

// board records which member runs each role. A role that two members run is an error.
type board struct {
	t      *testing.T
	config *rest.Config
	client kubernetes.Interface

	mu      sync.Mutex
	runs    map[string]string
	tokens  map[string]fence.Token
	changed chan struct{} // closed at the next change
}

func newBoard(t *testing.T) *board {
	t.Helper()
	c, err := minikcm.Start(t.Context(), minikcm.Options{API: minikcm.APIOptions{NoHTTPS: true}, Nodes: minikcm.NodeOptions{Count: -1}, Controllers: minikcm.ControllerOptions{NoScheduler: true, Selected: []string{"-*"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return &board{t: t, config: c.Config(), client: c.Client(), runs: map[string]string{}, tokens: map[string]fence.Token{}, changed: make(chan struct{})}
}

func (b *board) change(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
	close(b.changed)
	b.changed = make(chan struct{})
}

// until waits until done returns true for the members by role.
func (b *board) until(ctx context.Context, what string, done func(runs map[string]string) bool) {
	b.t.Helper()
	for {
		b.mu.Lock()
		ok, changed := done(b.runs), b.changed
		b.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			b.t.Fatalf("waiting for %s: the roles are %v", what, b.runs)
		}
	}
}

// allWith reports that every role runs, and only in the members.
func allWith(names ...string) func(map[string]string) bool {
	return func(runs map[string]string) bool {
		count := map[string]int{}
		for _, name := range runs {
			count[name]++
		}
		total := 0
		for _, name := range names {
			if count[name] == 0 {
				return false
			}
			total += count[name]
		}
		return total == len(members.AllRoles()) && total == len(runs)
	}
}

// process is a member, and whether it reaches the API.
type process struct {
	*sharing.Member
	name   string
	cut    atomic.Bool
	cancel context.CancelFunc
	ended  chan struct{}
}

var errCut = errors.New("the process is cut off")

// wrap makes requests fail while the process is cut off.
func (p *process) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if p.cut.Load() {
			return nil, errCut
		}
		return next.RoundTrip(r)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// join starts a member. Its first failures calls of Start fail.
func (b *board) join(name string, failures int) *process {
	b.t.Helper()
	p := b.member(name, failures)
	b.run(p)
	return p
}

// member makes a member, for run.
func (b *board) member(name string, failures int) *process {
	b.t.Helper()
	p := &process{name: name, ended: make(chan struct{})}
	config := rest.CopyConfig(b.config)
	config.Wrap(p.wrap)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.t.Fatal(err)
	}
	p.Member = sharing.New(sharing.Options{
		Client: client, Clock: clock.Real(), Logger: klog.Background(), Identity: name, Hostname: "host", Address: "127.0.0.1:1",
		Kinds: []string{members.RoleControllers, members.RoleScheduler, members.RoleAddresses, members.RoleNodes},
		Start: func(_ context.Context, roles map[string]fence.Token) error {
			if failures > 0 {
				failures--
				return errors.New("not now")
			}
			b.change(func() { b.startLocked(name, roles) })
			return nil
		},
		Stop: func(_ context.Context, role string) {
			b.change(func() { delete(b.runs, role) })
		},
	})
	return p
}

func (b *board) run(p *process) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go func() {
		defer close(p.ended)
		if err := p.Run(ctx); err != nil {
			b.t.Errorf("%s: %v", p.name, err)
		}
	}()
	b.t.Cleanup(p.stop)
}

func (b *board) startLocked(name string, roles map[string]fence.Token) {
	for role, token := range roles {
		if other := b.runs[role]; other != "" {
			b.t.Errorf("%s starts the role %s, which %s runs", name, role, other)
		}
		if before := b.tokens[role]; token.Revision <= before.Revision {
			b.t.Errorf("%s starts the role %s with the token %v after %v", name, role, token, before)
		}
		b.runs[role], b.tokens[role] = name, token
	}
}

func (p *process) stop() {
	p.cancel()
	<-p.ended
}

// leave ends a member as a process does that is stopped.
func (p *process) leave(ctx context.Context, b *board) {
	p.stop()
	b.change(func() {
		for role, name := range b.runs {
			if name == p.name {
				delete(b.runs, role)
			}
		}
	})
	if err := p.Leave(ctx); err != nil {
		b.t.Error(err)
	}
}

// patience limits the wait for what must happen.
const patience = time.Minute

// TestMembersDivideRoles has two members divide the roles, until one of them leaves.
func TestMembersDivideRoles(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b := newBoard(t)
	first := b.join("first", 1)
	b.until(ctx, "the first member to run everything", allWith("first"))
	second := b.join("second", 0)
	b.until(ctx, "both members to run something", allWith("first", "second"))
	b.mu.Lock()
	single := b.runs[members.RoleControllers]
	b.mu.Unlock()
	if single != "first" {
		t.Errorf("the controllers run in the %s member: a single role must stay with its holder", single)
	}
	b.holders(ctx, map[string]string{"first": first.Name(), "second": second.Name()})
	if !first.Live(second.Name()) || first.Live("apiserver-other") {
		t.Error("the first member does not know which members live")
	}
	stopped := clock.Stopwatch()
	first.leave(ctx, b)
	b.until(ctx, "the second member to run everything", allWith("second"))
	if took := stopped(); took >= members.LeaseDuration {
		t.Errorf("the second member took over after %v, although the first one has left", took)
	}
}

// holders compares the holders in the API with the members that run the roles.
func (b *board) holders(ctx context.Context, names map[string]string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for role, name := range b.runs {
		lease, err := sharing.Holder(ctx, b.client, role)
		if err != nil || lease.Name != names[name] || members.Address(lease) != "127.0.0.1:1" {
			b.t.Errorf("the holder of the role %s, which %s runs, is %v, %v", role, name, lease, err)
		}
	}
}

// TestMemberIsCutOff has a member lose its connection to the API: it stops its roles before the
// other one starts them. When it is back, it gets its shards again.
func TestMemberIsCutOff(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b := newBoard(t)
	first := b.join("first", 0)
	b.until(ctx, "the first member to run everything", allWith("first"))
	b.join("second", 0)
	b.until(ctx, "both members to run something", allWith("first", "second"))
	first.cut.Store(true)
	b.until(ctx, "the second member to run everything", allWith("second"))
	first.cut.Store(false)
	b.until(ctx, "both members to run something again", allWith("first", "second"))
}

// TestHolder reads the holder of a role without one.
func TestHolder(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b := newBoard(t)
	if _, err := sharing.Holder(ctx, b.client, members.RoleScheduler); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("without a Lease: %v", err)
	}
	p := b.join("only", 0)
	b.until(ctx, "the member to run everything", allWith("only"))
	p.leave(ctx, b)
	_, err := sharing.Holder(ctx, b.client, members.RoleScheduler)
	if !apierrors.IsServiceUnavailable(err) {
		t.Errorf("after the holder has left: %v", err)
	}
	left, err := b.client.CoordinationV1().Leases(members.Namespace).List(ctx, metav1.ListOptions{LabelSelector: members.Selector})
	if err != nil || len(left.Items) != 0 {
		t.Errorf("a member that has left remains: %v, %v", fmt.Sprint(left.Items), err)
	}
}

// TestMemberIsAnnounced announces a member while another one runs everything: its Lease is there and is renewed, but it
// gets no roles before it joins.
func TestMemberIsAnnounced(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b := newBoard(t)
	b.join("first", 0)
	b.until(ctx, "the first member to run everything", allWith("first"))
	second := b.member("second", 0)
	if err := second.Announce(ctx); err != nil {
		t.Fatal(err)
	}
	b.run(second)
	lease, err := b.client.CoordinationV1().Leases(members.Namespace).Get(ctx, second.Name(), metav1.GetOptions{})
	if err != nil || len(members.Roles(lease)) != 0 || members.Address(lease) != "" {
		t.Fatalf("the Lease of the announced member: %v, %v", lease, err)
	}
	w, err := b.client.CoordinationV1().Leases(members.Namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + second.Name(), ResourceVersion: lease.ResourceVersion,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for range 2 { // renewals, between which the first member looks at it
		<-w.ResultChan()
	}
	b.change(func() {
		for role, name := range b.runs {
			if name != "first" {
				t.Errorf("%s runs the role %s", name, role)
			}
		}
	})
	second.Join("127.0.0.1:2")
	b.until(ctx, "both members to run something", allWith("first", "second"))
	lease, err = b.client.CoordinationV1().Leases(members.Namespace).Get(ctx, second.Name(), metav1.GetOptions{})
	if err != nil || members.Address(lease) != "127.0.0.1:2" {
		t.Errorf("the Lease of the member that has joined: %v, %v", lease, err)
	}
}

// TestIdleMember checks that the Lease of a member that can run no role has upstream's times.
func TestIdleMember(t *testing.T) {
	t.Parallel()
	start := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	fake := clocktesting.NewFakeClock(start)
	client := fakeclient.NewClientset()
	written := make(chan *coordinationv1.Lease, 10)
	for _, verb := range []string{"create", "update"} {
		client.PrependReactor(verb, "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
			written <- action.(clienttesting.CreateAction).GetObject().(*coordinationv1.Lease)
			return false, nil, nil
		})
	}
	m := sharing.New(sharing.Options{Client: client, Clock: fake, Logger: klog.Background(), Identity: "idle", Hostname: "host"})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- m.Run(ctx) }()
	if lease := <-written; *lease.Spec.LeaseDurationSeconds != 3600 {
		t.Errorf("the Lease is valid for %d s, want 3600", *lease.Spec.LeaseDurationSeconds)
	}
	for range 10 {
		fake.Step(time.Second)
	}
	if renewed := (<-written).Spec.RenewTime.Time; !renewed.Equal(start.Add(10 * time.Second)) {
		t.Errorf("renewed after %v, want 10s", renewed.Sub(start))
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
