package minikcm

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/assembly/bootstrap"
	"minikcm.dev/minikcm/internal/assembly/identity"
	"minikcm.dev/minikcm/internal/assembly/kubeconfig"
	"minikcm.dev/minikcm/internal/assembly/parts"
	"minikcm.dev/minikcm/internal/assembly/storage"
	"minikcm.dev/minikcm/internal/assembly/timing"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/internal/faults"
	"minikcm.dev/minikcm/internal/heartbeats"
	"minikcm.dev/minikcm/kubeletsim"
)

// Start starts a cluster and returns when its nodes are Ready and its default
// service account exists. ctx bounds the start alone: the cluster runs until Close.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts.complete()
	group := parts.NewGroup()
	a := &assembly{opts: opts, group: group, ending: &ending{guard: storage.NewGuard(group.End)}}
	var c *Cluster
	if err := a.ending.guard.Do(func() (err error) {
		c, err = a.assemble(ctx)
		return err
	}); err != nil {
		return nil, errors.Join(err, a.ending.close())
	}
	return c, nil
}

// assembly makes a cluster in stages, each of which returns a value that the following ones use. No stage
// sees a cluster that is not complete.
//
//	foundation  time, store, identity, files of the configuration
//	parts       the scheduler and the kubelets, which make no request yet
//	server      and its clients
//	contents    the objects from the beginning
//	socket      HTTPS
//
// Then the parts run, and the cluster is complete.
type assembly struct {
	opts   Options
	group  *parts.Group
	ending *ending
	// https and file outlast the parts, which begin before them; nil: there is none.
	https *apiserver.HTTPS
	file  *kubeconfig.File
}

func (a *assembly) assemble(ctx context.Context) (*Cluster, error) {
	a.ending.add(func() error { return a.file.Remove() })
	f, err := a.lay(ctx)
	if err != nil {
		return nil, err
	}
	own, extensions := &ownAPI{}, &services{}
	lifetime, cancel := context.WithCancel(context.Background())
	p, server, err := a.serve(ctx, f, own, extensions.kindsOf(a.opts.API.Extensions), cancel)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(apiserver.Protobuf(server.Config(AdminUser, auth.GroupMasters)))
	if err != nil {
		return nil, fmt.Errorf("making the cluster's own client: %w", err)
	}
	if f.timing.Virtual != nil { // a seed means the same revisions
		if err := server.AwaitRegistered(ctx); err != nil {
			return nil, err
		}
	}
	p.Attach(server, client)
	if err := p.Identify(ctx, lifetime); err != nil {
		return nil, err
	}
	loaded, err := a.fill(ctx, f, server, client)
	if err != nil {
		return nil, err
	}
	c := &Cluster{opts: a.opts, foundation: f, parts: p, server: server, client: client, services: extensions, loaded: loaded, group: a.group, ending: a.ending}
	if c.socket, err = a.publish(ctx, f, server, client); err != nil {
		return nil, err
	}
	if err := p.Start(lifetime, c.Address()); err != nil {
		return nil, err
	}
	own.cluster.Store(c)
	return c, c.begin(ctx)
}

// foundation is the part of a cluster that makes no requests.
type foundation struct {
	timing     *timing.Timing
	storage    *storage.Storage
	identity   *identity.Identity
	files      files
	apiFaults  *faults.Faults      // nil: there may be none
	heartbeats *heartbeats.Elision // written when they are observed; nil: always
	// metrics has the metrics of the controllers and of the scheduler.
	metrics *prometheus.Registry
}

// lay makes the foundation.
func (a *assembly) lay(ctx context.Context) (f foundation, err error) {
	o := &a.opts
	f.timing = timing.New(o.timing())
	a.ending.add(func() error { f.timing.Close(); return nil })
	if err := identity.Check(o.Storage.DataDir); err != nil {
		return f, err
	}
	if f.storage, err = storage.Open(ctx, o.storage(), f.timing, a.ending.guard); err != nil {
		return f, err
	}
	a.ending.add(f.storage.Close)
	if f.identity, err = identity.Establish(ctx, o.identity(f.storage.Store)); err != nil {
		return f, err
	}
	if f.files, err = a.readFiles(ctx, f.timing.Clock); err != nil {
		return f, err
	}
	if o.Faults.API {
		// A source of chance of its own: allowing faults does not change a run of the same seed.
		f.apiFaults = faults.New(f.timing.Clock, f.timing.Ledger, f.timing.Random.Keyed("faults of the API server"))
	}
	f.heartbeats = o.elision(&f)
	f.metrics = prometheus.NewRegistry()
	f.metrics.MustRegister(o.gates().Collector())
	return f, nil
}

// files are the contents of files that configure the API server.
type files struct {
	encryption    *apiserver.EncryptionKeys
	authorization *apiserver.AuthorizationConfig // nil: there is no file
	audit         *apiserver.Auditor
}

// readFiles reads the files that configure encryption, authorization and audit.
func (a *assembly) readFiles(ctx context.Context, c clock.Clock) (f files, err error) {
	o := &a.opts
	if f.encryption, err = apiserver.OpenEncryption(ctx, o.Storage.EncryptionConfig, "minikcm"); err != nil {
		return f, err
	}
	a.ending.add(func() error { f.encryption.Close(); return nil })
	if o.Security.AuthorizationConfig != "" {
		if f.authorization, err = apiserver.ReadAuthorizationConfig(o.Security.AuthorizationConfig); err != nil {
			return f, err
		}
		o.Security.AuthorizationModes = f.authorization.Types()
	}
	if f.audit, err = apiserver.NewAuditor(o.Security.Audit, c, o.Logger); err != nil {
		return f, err
	}
	a.ending.add(f.audit.Close)
	return f, nil
}

// elision returns the elision of heartbeats, if only what runs in this process, on its virtual time, can
// observe them; nil otherwise. An audit log observes each, and an authorizer outside may refuse any.
func (o *Options) elision(f *foundation) *heartbeats.Elision {
	if f.timing.Virtual == nil || o.shares() || f.files.audit != nil || f.files.authorization != nil || o.Security.AuthorizationWebhook.ConfigFile != "" {
		return nil
	}
	e := &heartbeats.Elision{}
	attend := func() (end func()) { return e.Attend(context.Background(), heartbeats.Kinds()...) }
	if f.storage.Faults != nil {
		f.storage.Faults.Attend(attend)
	}
	if f.apiFaults != nil {
		f.apiFaults.Attend(attend)
	}
	return e
}

// serve makes the parts and the API server, which need each other. end ends the parts.
func (a *assembly) serve(ctx context.Context, f foundation, own http.Handler, kinds []apiserver.LiveKind, end context.CancelFunc) (*parts.Parts, *apiserver.Server, error) {
	// The server's chance comes first, so that a seed means the same with other parts.
	random := f.timing.Random.Fork()
	local := &apiserver.Local{}
	options, err := a.partOptions(f, local)
	if err != nil {
		return nil, nil, err
	}
	p, err := parts.Build(ctx, options)
	if err != nil {
		return nil, nil, err
	}
	a.ending.add(func() error {
		if a.https != nil {
			a.https.Close()
		}
		if p.Peers != nil {
			p.Peers.Close()
		}
		return nil
	})
	serverOptions, err := a.serverOptions(f, p)
	if err != nil {
		return nil, nil, errors.Join(err, p.Stop())
	}
	serverOptions.Random, serverOptions.Local, serverOptions.Own, serverOptions.Live = random, local, own, kinds
	server, err := apiserver.New(ctx, serverOptions)
	if err != nil {
		return nil, nil, errors.Join(err, p.Stop())
	}
	a.ending.add(func() error { server.Close(); return nil })
	a.ending.add(func() error { a.group.End(nil); return nil })
	a.ending.add(p.Stop)
	// Requests that faults delay would wait for a clock that does not move any more.
	a.ending.add(func() error { f.endFaults(); return nil })
	a.ending.add(func() error { end(); return nil })
	a.ending.add(func() error { f.timing.StopPace(); return nil })
	return p, server, nil
}

// endFaults removes the faults that last.
func (f *foundation) endFaults() {
	if f.storage.Faults != nil {
		f.storage.Faults.End()
	}
	if f.apiFaults != nil {
		f.apiFaults.End()
	}
}

// fill writes the objects that the cluster has from the beginning. No controller runs yet, and virtual
// time stands still.
func (a *assembly) fill(ctx context.Context, f foundation, server *apiserver.Server, client kubernetes.Interface) (loaded *dump.Summary, err error) {
	o := &a.opts
	config := server.Config(AdminUser, auth.GroupMasters)
	if o.Storage.Objects != nil {
		loaded, err = o.Storage.Objects.Load(ctx, config, dump.Options{
			Now: f.timing.Clock.Now(), Nodes: kubeletsim.NodeNames(o.Nodes.Count, o.Nodes.Pools),
		})
		if err != nil {
			return loaded, err
		}
	}
	if o.observes() && o.provisionsVolumes() {
		if err := bootstrap.SimulateStorageClasses(ctx, client); err != nil {
			return loaded, err
		}
	}
	if err := bootstrap.CreateRegistry(ctx, client, o.Nodes.Registry); err != nil {
		return loaded, err
	}
	return loaded, bootstrap.CreateStages(ctx, config, o.Nodes.Stages.Manifests)
}

// publish serves HTTPS, unless the options exclude it, and creates the ConfigMaps that
// kube-apiserver maintains.
func (a *assembly) publish(ctx context.Context, f foundation, server *apiserver.Server, client kubernetes.Interface) (s *socket, err error) {
	if !a.opts.API.NoHTTPS {
		if s, err = a.listen(ctx, f, server); err != nil {
			return s, err
		}
		trust, err := server.ClientTrust(f.identity.Authority.CertPEM(), f.identity.FrontProxy.CertPEM(), identity.FrontProxyUser)
		if err != nil {
			return s, err
		}
		if err := bootstrap.PublishClientCA(ctx, client, trust); err != nil {
			return s, err
		}
	}
	return s, bootstrap.PublishTokenTracking(ctx, client, f.timing.Clock.Now())
}

// listen serves HTTPS, and writes the file of the administrator's kubeconfig.
func (a *assembly) listen(ctx context.Context, f foundation, server *apiserver.Server) (*socket, error) {
	o := &a.opts.API
	https, err := server.Listen(ctx, apiserver.ListenOptions{Address: o.BindAddress, Port: o.Port, Authority: f.identity.Authority, Certificate: f.identity.Certificate})
	if err != nil {
		return nil, err
	}
	a.https = https
	s := &socket{https: https, server: kubeconfig.Server{Address: https.Address(), CAs: f.identity.ServerCAs(), ClientCA: f.identity.Authority, Version: Version()}}
	if s.kubeconfig, err = s.server.For(AdminUser, auth.GroupMasters); err != nil || o.KubeconfigPath == "" {
		return s, err
	}
	a.file, err = kubeconfig.Write(o.KubeconfigPath, s.kubeconfig)
	return s, err
}

// begin starts what uses a complete cluster, and returns when the nodes are Ready unless the options say
// otherwise.
func (c *Cluster) begin(ctx context.Context) error {
	c.ending.add(c.services.close)
	if err := c.startExtensions(ctx); err != nil {
		return err
	}
	if !c.opts.NoWait {
		if err := c.awaitReady(ctx); err != nil {
			return err
		}
		if l := c.timing.Ledger; l.TakesTurns() && !c.opts.Clock.Driven {
			// What the start has begun comes before what the caller does, whatever the machine's speed.
			if err := l.WaitIdle(ctx); err != nil {
				return err
			}
		}
	}
	c.timing.StartPace()
	return nil
}

func (c *Cluster) awaitReady(ctx context.Context) error {
	o := parts.ReadyOptions{Progress: c.opts.Progress, Until: func(ctx context.Context, look func(context.Context) (bool, error)) error {
		return c.Until(ctx, look, nil)
	}}
	if c.loaded != nil && c.opts.Nodes.Manage == ManageAll {
		o.Loaded = c.loaded.Nodes
	}
	return c.parts.AwaitReady(ctx, o)
}
