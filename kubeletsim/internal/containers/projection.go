package containers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/memfs"
)

// projection is a volume that shows objects of the API: a ConfigMap, a Secret, fields of the pod, tokens, certificates.
type projection struct {
	in     *Ref
	volume *corev1.Volume
	// kept means that its content stays as it was at the container's start.
	kept bool
	tree *memfs.Tree
	// tokens are the tokens that it shows, by path.
	tokens map[string]issuedToken
}

// issuedToken is a token of a service account that is used until renewal.
type issuedToken struct {
	text    string
	renewal time.Time
}

// read returns the present content, as a new tree.
func (p *projection) read(ctx context.Context) (*memfs.Tree, error) {
	tree := p.in.runtime.space.NewTree(0o755)
	if err := p.fill(ctx, tree); err != nil {
		tree.Free()
		return nil, err
	}
	return tree, nil
}

// fillToken writes a token that is bound to the pod, as its kubelet requests it. Like upstream's kubelet, it requests another one when
// 80 % of the token's life, or a day, has passed.
func (p *projection) fillToken(ctx context.Context, tree *memfs.Tree, source *corev1.ServiceAccountTokenProjection, mode *int32) error {
	in := p.in
	now := in.runtime.opts.Clock.Now()
	token, ok := p.tokens[source.Path]
	if !ok || !now.Before(token.renewal) {
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: source.ExpirationSeconds,
			BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: in.pod.Name, UID: in.pod.UID},
		}}
		if source.Audience != "" {
			request.Spec.Audiences = []string{source.Audience}
		}
		account := in.pod.Spec.ServiceAccountName
		answer, err := in.runtime.opts.Client.CoreV1().ServiceAccounts(in.pod.Namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("requesting a token of service account %s: %w", account, err)
		}
		life := answer.Status.ExpirationTimestamp.Sub(now)
		token = issuedToken{answer.Status.Token, now.Add(min(life*4/5, 24*time.Hour))}
		if p.tokens == nil {
			p.tokens = map[string]issuedToken{}
		}
		p.tokens[source.Path] = token
	}
	tree.Put(source.Path, permOf(nil, mode), []byte(token.text))
	return nil
}

// refresh reads the content again. If that fails, the content stays, as a kubelet's does.
func (m *mounts) refresh(ctx context.Context, p *projection) {
	fresh, err := p.read(ctx)
	if err != nil {
		p.in.runtime.opts.Logger.V(2).Info("Cannot refresh a volume, will retry", "pod", p.in.pod.Namespace+"/"+p.in.pod.Name, "volume", p.volume.Name, "error", err.Error())
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.released {
		fresh.Free()
		return
	}
	p.tree.Replace(fresh)
}

// keepFresh makes a machine's commands see projected volumes as they are now when they read a file after machineLife and up to a half more,
// which spreads the reads of pods, as upstream's kubelet does when it syncs a pod again. Commands that read nothing cost nothing.
func (in *Ref) keepFresh(ctx context.Context, view *memfs.View, m *mounts) {
	changing := slices.DeleteFunc(slices.Clone(m.projected), func(p *projection) bool { return p.kept })
	if len(changing) == 0 {
		return
	}
	ctx = in.runtime.opts.AsNode(ctx, in.node.Name)
	random := rand.New(rand.NewPCG(in.seed("volumes"), 0))
	now := in.runtime.opts.Clock.Now
	next := func() time.Time { return now().Add(machineLife + time.Duration(random.Int64N(int64(machineLife/2)))) }
	var mu sync.Mutex // guards due and random
	due := next()
	view.BeforeReads(func() {
		mu.Lock()
		waits := now().Before(due)
		if !waits {
			due = next()
		}
		mu.Unlock()
		if waits {
			return
		}
		for _, p := range changing {
			m.refresh(ctx, p)
		}
	})
}
