package apiserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/apiserver/internal/admission/hooks"
	"minikcm.dev/minikcm/apiserver/internal/admission/plugins"
	"minikcm.dev/minikcm/apiserver/internal/aggregator"
	"minikcm.dev/minikcm/apiserver/internal/apiservices"
	"minikcm.dev/minikcm/apiserver/internal/audit"
	"minikcm.dev/minikcm/apiserver/internal/authn"
	"minikcm.dev/minikcm/apiserver/internal/authz"
	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/crd"
	"minikcm.dev/minikcm/apiserver/internal/encodings"
	"minikcm.dev/minikcm/apiserver/internal/encryption"
	"minikcm.dev/minikcm/apiserver/internal/eviction"
	"minikcm.dev/minikcm/apiserver/internal/fieldmanager"
	"minikcm.dev/minikcm/apiserver/internal/flow"
	"minikcm.dev/minikcm/apiserver/internal/gate"
	"minikcm.dev/minikcm/apiserver/internal/live"
	"minikcm.dev/minikcm/apiserver/internal/metrics"
	"minikcm.dev/minikcm/apiserver/internal/metricsapi"
	"minikcm.dev/minikcm/apiserver/internal/nodeauthorizer"
	"minikcm.dev/minikcm/apiserver/internal/ownobjects"
	"minikcm.dev/minikcm/apiserver/internal/pressure"
	"minikcm.dev/minikcm/apiserver/internal/rbac"
	"minikcm.dev/minikcm/apiserver/internal/reload"
	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/reviews"
	"minikcm.dev/minikcm/apiserver/internal/served"
	"minikcm.dev/minikcm/apiserver/internal/serviceip"
	"minikcm.dev/minikcm/apiserver/internal/services"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/apiserver/internal/strategy"
	"minikcm.dev/minikcm/apiserver/internal/streaming"
	"minikcm.dev/minikcm/apiserver/internal/upkeep"
	"minikcm.dev/minikcm/apiserver/internal/verbs"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/accessrecord"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/cellimits"
	"minikcm.dev/minikcm/internal/faults"
	"minikcm.dev/minikcm/internal/heartbeats"
	"minikcm.dev/minikcm/internal/peers"
	"minikcm.dev/minikcm/internal/writerecord"
	"minikcm.dev/minikcm/store"
)

// Options configure New. Only Store is required.
type Options struct {
	Store store.Store
	// Clock defaults to the real clock, Ledger may be nil, Random defaults to a random
	// seed.
	Clock  clock.Clock
	Ledger *clock.Ledger
	Random *clock.Random
	// Resources defaults to the built-in table.
	Resources *resources.Table
	// SplitLogs allows a client to ask for one of the streams of a log: upstream's gate PodLogsQuerySplitStreams.
	SplitLogs bool
	Logger    klog.Logger
	// Notices gets the messages for the operator of the server; the zero Logger means Logger.
	Notices klog.Logger
	// CompactionInterval is the interval of compactions; each keeps the history of the
	// last interval. 0 means five minutes, as upstream; negative disables compaction.
	CompactionInterval time.Duration
	// HistoryRevisions is the number of the newest revisions that compactions keep instead of the revisions
	// of the last interval, and HistoryDuration the time whose revisions they keep; 0: neither. With a
	// duration, the default interval is at most the duration.
	HistoryRevisions int64
	HistoryDuration  time.Duration
	// MaxWatchTime limits watches for which the client gives no timeout; 0 means an hour.
	MaxWatchTime time.Duration
	// ServiceRanges are the networks of cluster IPs: one, or one of each family, the
	// default family first; empty means 10.96.0.0/16. NodePorts defaults to 30000-32767.
	ServiceRanges []netip.Prefix
	NodePorts     serviceip.PortRange
	// AdvertiseAddress is the address in the endpoints of the Service "kubernetes" once
	// the server listens. It defaults to the address listened on or, if Endpoints must not
	// contain that, to the first address of the machine that they may contain, or a
	// simulated one.
	AdvertiseAddress netip.Addr
	// SharedStore reports that other servers use the store too.
	SharedStore bool
	// MaxReads and MaxWrites cap the requests from the network that are served at once,
	// except watches and other long-running requests; 0 means 400 and 200, negative no
	// limit.
	MaxReads, MaxWrites int
	// MemoryLimit is the memory that the process may use, in bytes: near it, requests that
	// take memory get 429, and the watch caches drop history and slow watches. 0 means no
	// limit.
	MemoryLimit uint64
	// RecordedWrites is how many writes the write record keeps; 0 means
	// writerecord.DefaultCapacity.
	RecordedWrites int
	// Local connects clients that were built before the server; nil: none were.
	Local *Local
	// Kubelets connect clients to containers and their logs; nil: there are none.
	Kubelets streaming.Kubelets
	// Peers are the other processes on the store that simulate nodes; nil: there are none. The
	// caller closes them after the server.
	Peers *peers.Peers
	// Metrics provides resource usage and metrics; nil: the metrics APIs are not served.
	Metrics metricsapi.Source
	// Scheduler and Controllers provide the health for ComponentStatuses; nil: the
	// component does not run in this process.
	Scheduler, Controllers ComponentHealth
	// StoreWaits reports whether operations of Store may currently wait for the clock (the operations of
	// internal/faulty do): requests that begin meanwhile are not in flight while they wait. Nil: they never
	// wait.
	StoreWaits func() bool
	// Heartbeats are written when they are observed; nil: always.
	Heartbeats *heartbeats.Elision
	// Faults are the API faults to apply; nil: none.
	Faults *faults.Faults
	// Snapshots takes the snapshots that GET /minikcm/v1/snapshot serves; nil: it is not
	// served.
	Snapshots store.Snapshotter
	// Live are the kinds whose objects show the state of this process.
	Live []live.Kind
	// Own serves the other paths beneath /minikcm/v1; nil: they are not served.
	Own http.Handler
	// Gatherer provides other metrics of the process, which /metrics serves in addition;
	// nil: none.
	Gatherer prometheus.Gatherer
	// Collected are the metrics of other parts of the cluster; nil: none.
	Collected prometheus.Gatherer
	// KubeVersion is the version in /version; empty means DefaultVersion.
	KubeVersion string
	// Flags are the values of the command's flags, which /flagz shows.
	Flags map[string]string
	// TokenKey signs the tokens of service accounts; nil means a new key, which
	// invalidates all earlier tokens.
	TokenKey *auth.TokenKey
	// TrustedTokenKeys verify the tokens of service accounts; empty means TokenKey.
	TrustedTokenKeys []*auth.PublicTokenKey
	// TokenIssuers are the accepted issuers of bound tokens, of which the first issues the
	// new ones; empty means auth.DefaultIssuer. APIAudiences are the audiences of the API
	// server; empty means TokenIssuers.
	TokenIssuers, APIAudiences []string
	// Authentication configures further ways to authenticate.
	Authentication authn.Options
	// AuthorizationModes decide in turn whether a user may make a request, after the group system:masters,
	// which may do everything; empty means DefaultAuthorizationModes.
	AuthorizationModes []string
	// AuthorizationWebhook configures the webhook of the mode AuthorizeWebhook.
	AuthorizationWebhook authz.Webhook
	// AuthorizationConfig, if not nil, has the authorizers instead of AuthorizationModes and
	// AuthorizationWebhook. It was read from AuthorizationConfigFile, which is followed: new
	// content takes effect.
	AuthorizationConfig     *authz.Configuration
	AuthorizationConfigFile string
	// ProxyClient is the client certificate of requests to the servers of other APIs, which
	// APIServices refer to; nil: the requests have none.
	ProxyClient *auth.KeyPair
	// SkipSimulated skips the webhooks and APIServices behind which only simulated pods are. Otherwise, only
	// the webhooks and APIServices of Services with services.AnnotationIgnoreSimulated are skipped.
	SkipSimulated bool
	// Denied, if not nil, is called when an in-process client may not make a request as a
	// user of the control plane or a service account in kube-system.
	Denied func(user string, err error)
	// Encryption encrypts the stored values; nil: nothing is encrypted. The caller closes it after the server.
	Encryption *encryption.Keys
	// ReloadEncryption follows the file of Encryption: new content takes effect.
	ReloadEncryption bool
	// Audit records the requests; nil: they are not recorded. The caller closes it after the
	// server.
	Audit *audit.Auditor
	// DefaultObjects are created if the store has no object of their kind.
	DefaultObjects []runtime.Object
	// Admission selects and configures the admission plugins.
	Admission plugins.Options
	// Authorizer, if not nil, authorizes every request instead.
	Authorizer auth.Authorizer
}

// DefaultVersion is the Kubernetes version whose API is served.
const DefaultVersion = "v1.37.2"

// Server is the apiserver.
type Server struct {
	opts      Options
	table     *resources.Table
	scheme    *runtime.Scheme
	decoder   *codec.Decoder
	stored    map[schema.GroupVersionResource]*storage.Objects
	hooks     *hooks.Plugin
	admission admission.Chain
	verbs     *verbs.Backend
	log       *writerecord.Log
	metrics   *metrics.Metrics
	streaming *streaming.Server
	// usage is only used if Options.Metrics is set.
	usage       *metricsapi.API
	definitions *served.Definitions
	fields      *fieldmanager.Managers
	live        liveKinds
	// chance generates names and UIDs.
	chance   *clock.Keyed
	preparer *strategy.Preparer
	env      *request.Env
	own      *ownobjects.Writer
	flows    *ownobjects.Flows
	handler  http.Handler
	// serving is the certificate that clients are shown; nil before one is needed.
	serving   atomic.Pointer[tls.Certificate]
	compactor *upkeep.Periodic
	services  *services.Services
	repair    *upkeep.Periodic
	// shared holds the periodic work of a server on a shared store that the other servers make necessary.
	shared []*upkeep.Periodic
	// identified makes the server known to others.
	identified identified
	registrar  atomic.Pointer[registrar]
	expirer    *upkeep.Expirer
	reviewer   *reviews.Reviewer
	evictor    *eviction.Evictor
	tokens     *auth.Tokens
	// authn authenticates in the configured ways; nil: there are none.
	authn *authn.Authenticators
	// chain has the authorizers of Options.AuthorizationConfig; nil: there is none.
	chain *authz.Chain
	// nodes is the Node authorizer; nil: the options have an authorizer of their own.
	nodes *nodeauthorizer.Authorizer
	// usesRoles reports whether roles and bindings decide.
	usesRoles bool
	// followers follow configuration files.
	followers []*reload.Follower
	// rules are the permissions that roles and bindings give.
	rules *rbac.Authorizer
	// aggregator serves the versions of other servers.
	aggregator *aggregator.Aggregator
	// mergedOpenAPI has the OpenAPI documents of all servers; nil before they are asked for.
	mergedOpenAPI atomic.Pointer[mergedDocuments]
	// skipper decides which calls of Services are skipped.
	skipper *services.Skipper
	// recorder wraps the Authorizer of the options.
	recorder *accessrecord.Recorder

	// since is the store's revision when the server started.
	since int64
	ready atomic.Bool
	// done is closed when the server stops; every watch then ends.
	done     chan struct{}
	stopOnce sync.Once
	inFlight gate.Gate
	limits   *inFlightLimits
	shed     shedder
	// responses limits the bytes of the responses to clients outside the process.
	responses *pressure.Budget
	// flow limits the requests from the network while the server listens.
	flow atomic.Pointer[flow.Control]
	// unlimited serves a request that is authenticated, however many are being served.
	unlimited http.Handler
}

// New returns a server that is ready to serve requests: its own objects (namespaces,
// priority classes, the kubernetes Service) exist.
func New(ctx context.Context, opts Options) (*Server, error) {
	if opts.Store == nil {
		return nil, errors.New("apiserver: a store is needed")
	}
	setDefaults(&opts)
	verbs.LimitCopies()
	if err := cellimits.Limit(); err != nil {
		return nil, err
	}
	known, err := newScheme()
	if err != nil {
		return nil, err
	}
	table, liveKinds, err := newTable(&opts, known)
	if err != nil {
		return nil, err
	}
	s := &Server{
		opts:    opts,
		table:   table,
		scheme:  known,
		decoder: codec.NewDecoder(known),
		stored:  map[schema.GroupVersionResource]*storage.Objects{},
		log:     writerecord.NewLog(opts.RecordedWrites),
		metrics: metrics.New(opts.Gatherer, opts.Collected),
		done:    make(chan struct{}),
		limits:  newInFlightLimits(opts.MaxReads, opts.MaxWrites),
	}
	// The seed depends on the revision, so that a server on an existing store does not
	// repeat the UIDs of earlier objects.
	revision, err := opts.Store.Revision(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the store's revision: %w", err)
	}
	s.since = revision
	s.chance = clock.NewKeyed(opts.Random.Uint64() ^ uint64(revision)) // only the bits matter
	s.addStorage()
	if s.tokens, err = s.newTokens(); err != nil {
		return nil, err
	}
	if s.authn, err = s.newAuthenticators(); err != nil {
		return nil, err
	}
	if err := s.useAccessControl(); err != nil {
		s.authn.Close()
		return nil, err
	}
	s.shed = shedder{gauge: pressure.New(opts.MemoryLimit), trim: s.trimCaches, largest: s.largestCaches}
	s.responses = pressure.NewBudget(opts.MemoryLimit, s.reportFullBudget)
	s.metrics.AddBudget(s.responses)
	s.metrics.AddLists(s.env.Lists)
	s.metrics.AddStored(s.storedSizes)
	s.metrics.AddRecord(s.log.Size, s.log.Capacity())
	s.metrics.AddAdmission(opts.Clock)
	s.streaming = s.newStreaming()
	s.usage = metricsapi.New(opts.Metrics, metricsObjects{s})
	s.skipper = s.newSkipper()
	s.definitions = s.newDefinitions()
	s.aggregator = s.newAggregator()
	s.hooks = s.newHooks()
	s.expirer = upkeep.NewExpirer(upkeep.ExpirerOptions{
		Rows: s.table.All(), Objects: s.objects, Store: opts.Store, Clock: opts.Clock, Logger: opts.Logger,
	})
	if err := s.prepare(ctx, liveKinds); err != nil {
		s.Close()
		return nil, err
	}
	s.startUpkeep()
	s.ready.Store(true)
	if opts.Local != nil {
		opts.Local.server.Store(s)
	}
	s.startRegistrar()
	s.aggregator.Start()
	if err := s.followFiles(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// newTable returns the table of the kinds that do not come from definitions, and the live ones among them.
func newTable(opts *Options, known *runtime.Scheme) (*resources.Table, map[*resources.Resource]live.Kind, error) {
	table := withMetrics(opts.Resources, opts.Metrics)
	table = table.With(crd.Row(known), apiservices.Row(known, func() metav1.Time { return strategy.Seconds(opts.Clock) }))
	return withLive(table, opts.Live)
}

// startUpkeep starts the server's periodic work.
func (s *Server) startUpkeep() {
	opts := &s.opts
	s.repair = upkeep.Start(opts.Clock, serviceip.RepairInterval, s.services.Repair)
	if opts.SharedStore {
		s.shared = []*upkeep.Periodic{
			upkeep.Start(opts.Clock, advertiseInterval, s.services.Readvertise),
			upkeep.Start(opts.Clock, upkeep.ReloadInterval, s.expirer.Reload),
		}
	}
	s.compactor = upkeep.StartCompactor(opts.Store, opts.Clock, upkeep.Retention{
		Interval: opts.CompactionInterval, Revisions: opts.HistoryRevisions, Duration: opts.HistoryDuration,
	}, opts.Logger)
}

// prepare makes the handlers of requests, and the objects that every cluster has.
func (s *Server) prepare(ctx context.Context, kinds map[*resources.Resource]live.Kind) error {
	err := s.startLive(ctx, kinds)
	if err != nil {
		return err
	}
	if s.admission, err = s.newAdmission(); err != nil {
		return err
	}
	s.reviewer = s.newReviewer()
	s.evictor = &eviction.Evictor{Objects: s.storedObjects, Now: s.preparer.Now}
	s.verbs = s.newVerbs()
	s.handler = s.newHandler()
	if err := s.definitions.Load(ctx); err != nil {
		return err
	}
	if err := s.bootstrap(ctx); err != nil {
		return err
	}
	if err := s.expirer.Load(ctx); err != nil {
		return fmt.Errorf("listing the objects that expire: %w", err)
	}
	return nil
}

// addStorage makes the storage of the built-in kinds, and the parts that writing them needs.
func (s *Server) addStorage() {
	opts := &s.opts
	s.preparer = &strategy.Preparer{Clock: opts.Clock, Chance: s.chance}
	s.env = &request.Env{Decoder: s.decoder, Scheme: s.scheme, Clock: opts.Clock, Lists: encodings.New(opts.MemoryLimit)}
	s.fields = fieldmanager.New(s.scheme)
	s.own = &ownobjects.Writer{Scheme: s.scheme, Table: s.table, Objects: s.objects, Preparer: s.preparer, Fields: s.fields}
	s.flows = &ownobjects.Flows{Writer: s.own, Stored: s.storedObjects, Store: opts.Store}
	s.services = s.newServices()
	for _, row := range s.table.All() {
		if row.Storage == nil && row.IsStored() && !row.Live {
			cfg := storage.Config{
				Resource: row, Store: opts.Store, Decoder: s.decoder, Clock: opts.Clock, Ledger: opts.Ledger,
				Since: s.since, Reserve: s.reserveFor(row), Transformer: opts.Encryption.For(row.GroupResource()),
			}
			if row.GVR() == crd.Resource {
				cfg.BeforeEvents = func() { s.definitions.AwaitServed() }
			}
			s.stored[row.GVR()] = storage.New(cfg)
		}
	}
}

func setDefaults(opts *Options) {
	if opts.Clock == nil {
		opts.Clock = clock.Real()
	}
	if opts.Notices.GetSink() == nil {
		opts.Notices = opts.Logger
	}
	if opts.Random == nil {
		opts.Random = clock.NewRandom(clock.NewSeed())
	}
	if opts.Resources == nil {
		opts.Resources = resources.Builtin()
	}
	if opts.CompactionInterval == 0 {
		opts.CompactionInterval = 5 * time.Minute
		if opts.HistoryDuration > 0 {
			opts.CompactionInterval = min(opts.CompactionInterval, opts.HistoryDuration)
		}
	}
	if opts.MaxWatchTime == 0 {
		opts.MaxWatchTime = time.Hour
	}
	if opts.KubeVersion == "" {
		opts.KubeVersion = DefaultVersion
	}
	if opts.AuthorizationConfig != nil {
		opts.AuthorizationModes = opts.AuthorizationConfig.Types()
	}
	if len(opts.AuthorizationModes) == 0 {
		opts.AuthorizationModes = DefaultAuthorizationModes()
	}
}

// advertiseInterval is the interval at which the endpoints of the Service kubernetes are compared
// with the live servers.
const advertiseInterval = 2 * time.Second

// Handler returns the handler chain.
func (s *Server) Handler() http.Handler { return s.handler }

// Authorizer returns the authorizer that decides about requests.
func (s *Server) Authorizer() auth.Authorizer { return s.opts.Authorizer }

// Writes returns the write record.
func (s *Server) Writes() *writerecord.Log { return s.log }

// objects returns the storage of a row's objects.
func (s *Server) objects(row *resources.Resource) *storage.Objects {
	if row.Storage != nil {
		return s.stored[row.Storage.Resource]
	}
	return s.stored[row.GVR()]
}

// Close ends all watches, waits for the requests being served, and stops the watch caches.
// It does not close the store.
func (s *Server) Close() {
	for _, work := range s.identified.works {
		work.Stop()
	}
	s.stopOnce.Do(func() {
		s.ready.Store(false)
		s.inFlight.Shut()
		close(s.done)
	})
	for _, f := range s.followers {
		f.Close()
	}
	s.compactor.Stop()
	s.repair.Stop()
	for _, p := range s.shared {
		p.Stop()
	}
	s.registrar.Load().stop()
	s.aggregator.Close()
	s.expirer.Stop()
	s.hooks.Close()
	s.flow.Load().Stop()
	s.inFlight.Wait()
	s.authn.Close()
	s.definitions.Close()
	for _, objects := range s.stored {
		objects.Close()
	}
	s.live.close()
}
