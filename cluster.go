package minikcm

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/internal/faults"
	"minikcm.dev/minikcm/internal/faulty"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/heartbeats"
	"minikcm.dev/minikcm/internal/peers"
	"minikcm.dev/minikcm/internal/sharing"
	"minikcm.dev/minikcm/internal/simulatedmetrics"
	"minikcm.dev/minikcm/kubeletsim"
	"minikcm.dev/minikcm/store"
)

// Cluster is a running cluster. Its methods may be called from several goroutines.
type Cluster struct {
	opts    Options
	clock   clock.Clock
	virtual *clock.Virtual
	pace    pace
	ledger  *clock.Ledger
	random  *clock.Random
	// collected has the metrics of the controllers and of the scheduler.
	collected  *prometheus.Registry
	store      store.Store
	snapshots  store.Snapshotter
	faults     *faulty.Store
	apiFaults  *faults.Faults
	server     *apiserver.Server
	audit      *apiserver.Auditor
	encryption *apiserver.EncryptionKeys
	// authorization is the content of Options.Security.AuthorizationConfig; nil: there is none.
	authorization *apiserver.AuthorizationConfig
	https         *apiserver.HTTPS
	kubeconfig    []byte
	authority     *auth.Authority
	frontProxy    *auth.Authority
	tokenKey      *auth.TokenKey
	// signingKey signs tokens: the signing key of the options, or tokenKey. trustedTokenKeys
	// verify them; empty: signingKey does.
	signingKey       *auth.TokenKey
	trustedTokenKeys []*auth.PublicTokenKey
	// certificate is the serving certificate of the options, and trustedServing its file; nil:
	// authority issues it.
	certificate    *tls.Certificate
	trustedServing []byte
	// lastRevision is the store's revision when the cluster was closed.
	lastRevision atomic.Int64
	// kubeconfigFile is the content of the file that the options name; nil: none was written.
	kubeconfigFile []byte

	client kubernetes.Interface
	// heartbeats are written when they are observed; nil: always.
	heartbeats *heartbeats.Elision
	shared     sharedRoles
	// announced is the member of a process that is identified before it takes roles; nil: none is.
	announced *sharing.Member
	// peers are the other processes on the etcd; nil: there are none.
	peers    *peers.Peers
	kubelets *kubeletsim.Kubelets
	manager  atomic.Pointer[controllers.Manager]
	local    apiserver.Local
	services services
	loaded   *dump.Summary
	// makesAccounts reports that a controller creates the service accounts of namespaces.
	makesAccounts bool
	// newTaints are the taints of new nodes that controllers remove.
	newTaints []string

	// cancel ends the parts. endShared then ends the informers and the recorder that the
	// parts share. done is closed when the cluster stops, because of failure if that is set.
	cancel    context.CancelFunc
	endShared func() error
	// built are the parts that have been built and not started.
	built []part
	// scheduler is nil if none runs here.
	scheduler *schedulerPart
	parts     sync.WaitGroup
	done      chan struct{}
	failOnce  sync.Once
	failure   error
	// broken is closed when the store has failed, after done. closed is closed when Close has
	// stopped everything; watching then ends.
	broken, closed chan struct{}
	watching       sync.WaitGroup
	closeOnce      sync.Once
	closeErr       error
}

// Start starts a cluster and returns when its nodes are Ready and its default
// service account exists. ctx bounds the start alone: the cluster runs until Close.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts.complete()
	c := &Cluster{opts: opts, done: make(chan struct{}), broken: make(chan struct{}), closed: make(chan struct{})}
	if err := c.unlessBroken(func() error { return c.start(ctx) }); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	c.ledger = clock.NewLedger()
	c.random = clock.NewRandom(c.opts.Seed)
	c.collected = prometheus.NewRegistry()
	c.collected.MustRegister(c.opts.gates().Collector())
	c.startClock()
	if err := c.readIdentity(); err != nil {
		return err
	}
	if err := c.openStore(ctx); err != nil {
		return err
	}
	if c.opts.Faults.Store {
		c.faults = faulty.New(c.store, c.clock, c.random.Fork())
		c.store = c.faults
	}
	c.makeAPIFaults()
	if err := c.completeIdentity(ctx); err != nil {
		return err
	}
	network, err := c.opts.network()
	if err != nil {
		return err
	}
	if err := c.readConfiguration(ctx); err != nil {
		return err
	}
	// The server's chance comes first, so that a seed means the same with other parts.
	serverRandom := c.random.Fork()
	c.makeElision()
	shared, err := c.buildParts(ctx)
	if err != nil {
		return err
	}
	proxyClient, err := c.frontProxy.Client(frontProxyUser)
	if err != nil {
		return err
	}
	c.server, err = apiserver.New(ctx, apiserver.Options{
		ProxyClient: proxyClient, Peers: c.peers, SkipSimulated: c.opts.Security.IgnoreSimulatedWebhooks,
		ServiceRanges: network.ranges, NodePorts: network.nodePorts, AdvertiseAddress: network.advertise,
		AuthorizationModes: c.opts.Security.AuthorizationModes, Denied: c.denied, Authentication: c.opts.Security.Authentication, AuthorizationWebhook: c.opts.Security.AuthorizationWebhook,
		AuthorizationConfig: c.authorization, AuthorizationConfigFile: c.opts.Security.AuthorizationConfig,
		Audit: c.audit, Encryption: c.encryption, ReloadEncryption: c.opts.Storage.ReloadEncryptionConfig,
		Admission: c.opts.admission(), DefaultObjects: c.defaultObjects(),
		SharedStore: c.sharesStore(), MaxReads: c.opts.API.MaxRequests, MaxWrites: c.opts.API.MaxMutatingRequests, MemoryLimit: c.opts.API.MemoryLimit,
		RecordedWrites: c.opts.API.RecordedWrites, Flags: c.opts.API.Flags, Resources: c.opts.resources(), KubeVersion: c.opts.kubernetesVersion(),
		SplitLogs: c.opts.gates().Enabled(featuregates.PodLogsQuerySplitStreams),
		Store:     c.store, Clock: c.clock, Ledger: c.ledger, Random: serverRandom,
		CompactionInterval: c.opts.Storage.CompactionInterval, HistoryRevisions: c.opts.Storage.History.Revisions, HistoryDuration: c.opts.Storage.History.Duration, Logger: c.opts.Logger, Notices: c.opts.Notices,
		Local: &c.local, Kubelets: c.kubelets, Snapshots: c.snapshots, Heartbeats: c.heartbeats, StoreWaits: c.storeWaits(), Faults: c.apiFaults, Own: http.HandlerFunc(c.serveOwn),
		Gatherer: c.opts.API.Gatherer, Collected: c.collected, Scheduler: c.schedulerHealth(), Controllers: c.controllersHealth,
		TokenKey: c.signingKey, TrustedTokenKeys: c.trustedTokenKeys, TokenIssuers: c.opts.Security.ServiceAccountTokens.Issuers, APIAudiences: c.opts.Security.ServiceAccountTokens.Audiences,
		Metrics: c.metricsSource(),
	})
	if err != nil {
		return err
	}
	if c.client, err = kubernetes.NewForConfig(apiserver.Protobuf(c.Config())); err != nil {
		return fmt.Errorf("making the cluster's own client: %w", err)
	}
	if c.virtual != nil { // a seed means the same revisions
		if err := c.server.AwaitRegistered(ctx); err != nil {
			return err
		}
	}
	return c.begin(ctx, shared)
}

// metricsSource returns the source of the metrics APIs, or nil without them.
func (c *Cluster) metricsSource() apiserver.MetricsSource {
	if c.opts.API.NoMetricsAPI {
		return nil
	}
	return simulatedmetrics.New(c.clock, c.opts.Seed, c.kubelets.Rules)
}

// begin starts the parts that use the API server, and returns when the nodes are Ready unless the
// options say otherwise.
func (c *Cluster) begin(ctx context.Context, shared *controllers.Env) error {
	parts, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	if err := c.identify(ctx, parts, shared); err != nil {
		return err
	}
	if err := c.loadObjects(ctx); err != nil {
		return err
	}
	if err := c.createRegistry(ctx); err != nil {
		return err
	}
	if err := c.createStages(ctx); err != nil {
		return err
	}
	if err := c.publish(ctx); err != nil {
		return err
	}
	if err := c.startParts(parts, shared); err != nil {
		return err
	}
	if err := c.startExtensions(ctx); err != nil {
		return err
	}
	if !c.opts.NoWait {
		if err := c.waitReady(ctx); err != nil {
			return err
		}
		if c.ledger.TakesTurns() && !c.opts.Clock.Driven {
			// What the start has begun comes before what the caller does, whatever the machine's speed.
			if err := c.ledger.WaitIdle(ctx); err != nil {
				return err
			}
		}
	}
	c.pace.start()
	return nil
}

// publish serves HTTPS, unless the options exclude it, and creates the ConfigMaps that
// kube-apiserver maintains.
func (c *Cluster) publish(ctx context.Context) error {
	if !c.opts.API.NoHTTPS {
		if err := c.listen(ctx); err != nil {
			return err
		}
		if err := c.publishClientCA(ctx); err != nil {
			return err
		}
	}
	return c.publishTokenTracking(ctx)
}

// startClock makes the clock of the options. Real time does not need the ledger.
func (c *Cluster) startClock() {
	switch c.opts.Clock.Mode {
	case clock.ModeVirtual:
		if !c.opts.isPaced() { // then its clients determine the order of events
			c.ledger.TakeTurns(c.opts.Seed, c.opts.Clock.Driven)
		}
		c.virtual = clock.NewVirtual(c.opts.Clock.Start, c.ledger)
		c.clock = c.virtual
		if c.opts.isPaced() {
			c.pace.pacer = clock.NewPacer(c.virtual, c.opts.Clock.Speed)
		}
		c.ledger.RetryOn(c.clock, c.random)
	case clock.ModeScaled:
		c.clock = clock.Scaled(c.opts.Clock.Speed)
		c.ledger.RetryOn(c.clock, c.random)
	default:
		c.clock = clock.Real()
	}
}

// sharesStore reports whether other processes may use the store, too.
func (c *Cluster) sharesStore() bool { return len(c.opts.Sharing.Etcd.Endpoints) > 0 }

// openStore sets store and snapshots. If it fails, both stay nil: a nil pointer in an
// interface would not be nil.
func (c *Cluster) openStore(ctx context.Context) error {
	if c.sharesStore() {
		external, err := store.DialEtcd(ctx, c.opts.Sharing.Etcd)
		if err == nil {
			c.store, c.snapshots = external, external
		}
		return err
	}
	opts := store.EmbeddedOptions{Logger: c.opts.Logger, Snapshot: c.opts.Storage.Snapshot, RevisionBump: c.opts.Security.Identity.revisionBump(), Sequential: c.ledger.TakesTurns()}
	if c.opts.Storage.DataDir != "" {
		opts.DataDir = etcdDir(c.opts.Storage.DataDir)
	}
	embedded, err := store.StartEmbedded(ctx, opts)
	if err != nil {
		return adviseRepair(c.opts.Storage.DataDir, err)
	}
	c.store, c.snapshots = embedded, embedded
	c.watchStore(embedded)
	return nil
}

func (c *Cluster) listen(ctx context.Context) error {
	var err error
	c.https, err = c.server.Listen(ctx, apiserver.ListenOptions{Address: c.opts.API.BindAddress, Port: c.opts.API.Port, Authority: c.authority, Certificate: c.certificate})
	if err != nil {
		return err
	}
	if c.kubeconfig, err = newKubeconfig(c.authority, c.clusterCAs(), c.https.Address(), AdminUser, auth.GroupMasters); err != nil {
		return err
	}
	if c.opts.API.KubeconfigPath == "" {
		return nil
	}
	file, err := encodedFor(c.opts.API.KubeconfigPath, c.kubeconfig)
	if err != nil {
		return err
	}
	if err := writeKubeconfig(c.opts.API.KubeconfigPath, file); err != nil {
		return err
	}
	c.kubeconfigFile = file
	return nil
}

// Config returns a new configuration of an in-process client with all permissions. Its
// content type is unset, so that a client of custom types can choose one for each type;
// client-go's clients of built-in kinds then send JSON unless the caller sets protobuf.
func (c *Cluster) Config() *rest.Config { return c.server.Config(AdminUser, auth.GroupMasters) }

// ConfigFor returns the same as Config for an in-process client that acts as user in
// groups.
func (c *Cluster) ConfigFor(user string, groups ...string) *rest.Config {
	return c.server.Config(user, groups...)
}

var errNoHTTPS = errors.New("the cluster was started without HTTPS")

// HTTPSConfig returns the configuration of a client that uses the socket. It fails if the
// cluster was started with NoHTTPS.
func (c *Cluster) HTTPSConfig() (*rest.Config, error) {
	if c.https == nil {
		return nil, errNoHTTPS
	}
	return httpsConfig(c.kubeconfig)
}

// Client returns an in-process client with all permissions.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// Address returns the IP address and port of the apiserver for clients on this machine;
// empty without HTTPS.
func (c *Cluster) Address() string {
	if c.https == nil {
		return ""
	}
	return c.https.Address()
}

// Kubeconfig returns the administrator's kubeconfig; nil without HTTPS.
func (c *Cluster) Kubeconfig() []byte { return c.kubeconfig }

// Seed returns the seed of all random choices of the cluster.
func (c *Cluster) Seed() uint64 { return c.opts.Seed }

// Random returns a new source of random numbers, for a program that runs beside the
// cluster. Its numbers depend on the seed and on the number of sources taken before.
func (c *Cluster) Random() *clock.Random { return c.random.Fork() }

// Clock returns the cluster's clock.
func (c *Cluster) Clock() clock.Clock { return c.clock }

// Ledger returns the in-flight ledger.
func (c *Cluster) Ledger() *clock.Ledger { return c.ledger }

// Kubelets returns the simulated kubelets, for faults of nodes and pods.
func (c *Cluster) Kubelets() *kubeletsim.Kubelets { return c.kubelets }

// StoreFaults returns the store that injects faults; nil without Options.Faults.Store.
func (c *Cluster) StoreFaults() *FaultyStore { return c.faults }

// Done is closed when the cluster has stopped, by Close or because a part of it
// failed.
func (c *Cluster) Done() <-chan struct{} { return c.done }

// Err returns why the cluster stopped without Close, once Done is closed.
func (c *Cluster) Err() error {
	select {
	case <-c.done:
		return c.failure
	default:
		return nil
	}
}

// Close stops everything and returns when it has stopped. It may be called more
// than once.
func (c *Cluster) Close() error {
	c.closeOnce.Do(func() {
		c.closeErr = c.unlessBroken(c.close)
		close(c.closed)
		c.watching.Wait()
	})
	return c.closeErr
}

// keepRevision keeps the last revision of an embedded store for Identity.
func (c *Cluster) keepRevision() {
	embedded, ok := c.snapshots.(*store.Embedded)
	if !ok {
		return
	}
	if revision, err := embedded.Revision(context.Background()); err == nil { // it may have failed
		c.lastRevision.Store(revision)
	}
}

// close stops in the reverse order of start: the users of a part before the part.
func (c *Cluster) close() error {
	err := c.services.close()
	c.pace.stop()
	err = errors.Join(err, c.stopParts())
	if c.server != nil {
		c.server.Close()
	}
	if c.https != nil {
		c.https.Close()
	}
	if c.peers != nil {
		c.peers.Close()
	}
	err = errors.Join(err, c.audit.Close())
	c.encryption.Close()
	if c.store != nil {
		c.keepRevision()
		err = errors.Join(err, c.store.Close())
	}
	if c.virtual != nil {
		c.virtual.Close()
	}
	if c.kubeconfigFile != nil {
		err = errors.Join(err, removeKubeconfig(c.opts.API.KubeconfigPath, c.kubeconfigFile))
	}
	return err
}
