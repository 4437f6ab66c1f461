package parts

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/peers"
	"minikcm.dev/minikcm/internal/sharing"
	"minikcm.dev/minikcm/kubeletsim"
)

// Parts are the controllers, the scheduler and the nodes of a cluster.
type Parts struct {
	opts     Options
	Kubelets *kubeletsim.Kubelets
	// Peers are the other processes on the etcd, through which the API server reaches the nodes that they
	// simulate; nil: there are none.
	Peers *peers.Peers

	// env is the environment that all parts share, so that every event is decoded once.
	env *controllers.Env
	// built are the parts that have been built and not started.
	built     []part
	scheduler *schedulerPart // nil if none runs here, or not always
	manager   atomic.Pointer[controllers.Manager]
	shared    sharedRoles
	// announced is the member of a process that is identified before it takes roles; nil: none is.
	announced *sharing.Member

	// endShared ends the informers and the recorder that the parts share.
	endShared func() error

	// Attach sets these.
	server *apiserver.Server
	client kubernetes.Interface
	// address is the address of the API server, which Start sets; empty without HTTPS.
	address string
}

// Build builds the scheduler and the kubelets, which make no request yet.
func Build(ctx context.Context, o Options) (*Parts, error) {
	p := &Parts{opts: o, endShared: func() error { return nil }}
	if err := p.build(ctx); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

func (p *Parts) build(ctx context.Context) (err error) {
	if p.env, err = p.newEnv(); err != nil {
		return err
	}
	if err := p.buildScheduler(ctx); err != nil {
		return err
	}
	options, err := p.kubeletOptions()
	if err != nil {
		return err
	}
	if p.Kubelets, err = kubeletsim.New(options); err != nil {
		return fmt.Errorf("making the kubelets: %w", err)
	}
	p.opts.Heartbeats.From(p.Kubelets)
	p.built = append(p.built, part{"kubelets", p.Kubelets.Run})
	if err := p.buildStages(); err != nil {
		return fmt.Errorf("making the part that plays Stages: %w", err)
	}
	return p.makePeers()
}

// Attach gives the parts the API server, and a client of it with all permissions, before any other
// request is made.
func (p *Parts) Attach(server *apiserver.Server, client kubernetes.Interface) {
	p.server, p.client = server, client
}

// Manager returns the manager of the controllers; nil before they are built, and while another
// process runs them.
func (p *Parts) Manager() *controllers.Manager { return p.manager.Load() }

// Start builds the controllers and starts all parts. All of them have requested their
// informers before the informers start. They end with ctx. address is the address of the API server;
// empty without HTTPS.
func (p *Parts) Start(ctx context.Context, address string) error {
	p.address = address
	p.endShared = p.env.Begin(ctx)
	if p.opts.Shares {
		return p.startSharing(ctx)
	}
	up := make(chan struct{})
	m, err := p.buildControllers(ctx, p.env, func() { close(up) })
	if err != nil {
		return err
	}
	candidates, err := p.candidates(ctx, m)
	if err != nil {
		return err
	}
	p.env.StartInformers()
	// The ledger counts the start, so that virtual time does not pass before the kubelets
	// know their nodes and the controllers run.
	starting := inflight.Begin(p.opts.Timing.Ledger, inflight.Action)
	p.opts.Group.running.Go(func() {
		defer starting.End()
		for _, begun := range []<-chan struct{}{p.Kubelets.Begun(), up} {
			select {
			case <-begun:
			case <-ctx.Done():
			}
		}
	})
	p.built = append(p.built, part{"controller manager", m.Run})
	p.startBuilt(ctx)
	for _, c := range candidates {
		p.elect(ctx, c)
	}
	return nil
}

// startBuilt starts the parts that have been built.
func (p *Parts) startBuilt(ctx context.Context) {
	for _, built := range p.built {
		p.opts.Group.run(ctx, built)
	}
	p.built = nil
}

// buildControllers builds the manager and its controllers. up is called when they run.
func (p *Parts) buildControllers(ctx context.Context, e *controllers.Env, up func()) (*controllers.Manager, error) {
	authority := p.opts.Identity.Authority
	signer := authority.TLS()
	e.RootCA, e.Authority = authority.CertPEM(), &signer
	m, err := controllers.New(e, controllers.Options{Selected: p.opts.Selected, Settings: p.opts.Settings, Up: up})
	if err != nil {
		return nil, err
	}
	if err := m.Build(); err != nil {
		return nil, err
	}
	p.manager.Store(m)
	return m, nil
}

// Stop returns when the parts have ended, and with them the resources that they share. The contexts of
// Identify and Start must have ended.
func (p *Parts) Stop() (err error) {
	p.opts.Group.running.Wait()
	p.leave()
	// A part that was built and never started releases its resources when it runs in a context that has ended.
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, built := range p.built {
		err = errors.Join(err, built.run(ended))
	}
	return errors.Join(err, p.endShared())
}
