package apiserver

import (
	"context"
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

	"minikcm.dev/minikcm/apiserver/admission"
	"minikcm.dev/minikcm/apiserver/admission/hooks"
	"minikcm.dev/minikcm/apiserver/apiservices"
	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/apiserver/codec"
	"minikcm.dev/minikcm/apiserver/crd"
	"minikcm.dev/minikcm/apiserver/faults"
	"minikcm.dev/minikcm/apiserver/record"
	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/serviceip"
	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

// Options say what a Server stands on. Only Store must be given.
type Options struct {
	Store store.Store
	// Clock defaults to the real one; Ledger may be nil; Random defaults to a new
	// seed.
	Clock  clock.Clock
	Ledger *clock.Ledger
	Random *clock.Random
	// Resources defaults to the built-in table.
	Resources *resources.Table
	Logger    klog.Logger
	// CompactionInterval is how often history is forgotten; what is younger than
	// one interval stays. 0 is five minutes, as upstream; negative is never.
	CompactionInterval time.Duration
	// MaxWatchTime ends a watch after it, when the client names no shorter time;
	// 0 is an hour.
	MaxWatchTime time.Duration
	// ServiceRanges are the networks of cluster IPs: one, or one of each family, the
	// default family first; empty is 10.96.0.0/16. NodePorts is 30000-32767 by default.
	ServiceRanges []netip.Prefix
	NodePorts     serviceip.PortRange
	// AdvertiseAddress is the one that the endpoints of the Service "kubernetes" name,
	// once the server listens. Without it, it is the address that is listened on, or, if
	// Endpoints may not name that, the machine's first that they may, or a simulated one.
	AdvertiseAddress netip.Addr
	// SharedStore says that other servers use the store too.
	SharedStore bool
	// MaxReads and MaxWrites are how many requests of clients on the network are served
	// at once, watches and the like not counted; 0 is 400 and 200, negative no limit.
	MaxReads, MaxWrites int
	// Logs knows what containers wrote; nil: nobody does.
	Logs LogSource
	// Containers reaches what runs in containers; nil: nobody does.
	Containers Containers
	// Metrics knows what is used; nil: there are no metrics APIs.
	Metrics MetricsSource
	// Scheduler and Controllers tell how those are, for ComponentStatuses; nil: they do
	// not run here.
	Scheduler, Controllers ComponentHealth
	// StoreWaits says whether Store may wait for the clock (store/faulty does): a request
	// that begins meanwhile is not in flight then. Nil: it never does.
	StoreWaits func() bool
	// Faults are what it suffers on demand; nil: nothing.
	Faults *faults.Faults
	// Snapshots writes down the store's state for GET /minikcm/v1/snapshot; nil:
	// that is not there.
	Snapshots store.Snapshotter
	// Own serves /minikcm/v1 and what else is asked for beneath it; nil: nothing is there.
	Own http.Handler
	// Gatherer has figures of others in the process, which /metrics serves besides the
	// server's own; nil: there are none.
	Gatherer prometheus.Gatherer
	// KubeVersion is what /version says; empty is DefaultVersion.
	KubeVersion string
	// TokenKey signs the tokens of service accounts; nil is a new key, so that no
	// earlier token is accepted.
	TokenKey *auth.TokenKey
	// Authorizer decides about every request; nil is auth.AlwaysAllow.
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
	log       *record.Log
	metrics   *metrics
	discovery *discovery
	// surface is what is served now: table and the custom kinds.
	surface     atomic.Pointer[surface]
	definitions *definitions
	fields      *fieldManagers
	// chance makes names and UIDs.
	chance    *clock.Keyed
	handler   http.Handler
	compactor *periodic
	services  *serviceip.Allocator
	repair    *periodic
	registrar atomic.Pointer[registrar]
	// listening is where others are told that the server is; nil: nowhere.
	listening atomic.Pointer[endpoint]
	expirer   *expirer
	tokens    *auth.Tokens
	// answers says how the kinds under which nothing is stored are served.
	answers map[schema.GroupVersionKind]answerFunc

	ready atomic.Bool
	// done is closed when the server stops; every watch ends then.
	done     chan struct{}
	stopOnce sync.Once
	inFlight gate
	limits   *inFlightLimits
}

// New returns a server that is ready to handle requests: its own objects
// (namespaces, priority classes, the kubernetes Service) exist.
func New(ctx context.Context, opts Options) (*Server, error) {
	if opts.Store == nil {
		return nil, errors.New("apiserver: a store is needed")
	}
	setDefaults(&opts)
	known, err := newScheme()
	if err != nil {
		return nil, err
	}
	s := &Server{
		opts:    opts,
		table:   withMetrics(opts.Resources, opts.Metrics).With(crd.Row(known), apiservices.Row(known, func() metav1.Time { return secondsOf(opts.Clock) })),
		scheme:  known,
		decoder: codec.NewDecoder(known),
		stored:  map[schema.GroupVersionResource]*storage.Objects{},
		log:     record.NewLog(0),
		metrics: newMetrics(opts.Gatherer),
		done:    make(chan struct{}),
		limits:  newInFlightLimits(opts.MaxReads, opts.MaxWrites),
	}
	// A store that is opened again must not see the UIDs of its past.
	revision, err := opts.Store.Revision(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the store's revision: %w", err)
	}
	s.chance = clock.NewKeyed(opts.Random.Uint64() ^ uint64(revision)) // any bits will do
	for _, row := range s.table.All() {
		if row.Storage == nil && row.Via == nil && !row.Computed && !row.Asked {
			s.stored[row.GVR()] = storage.New(storage.Config{
				Resource: row, Store: opts.Store, Decoder: s.decoder, Clock: opts.Clock, Ledger: opts.Ledger,
				Reserve: s.reserveFor(row),
			})
		}
	}
	if s.tokens, err = s.newTokens(); err != nil {
		return nil, err
	}
	s.answers = s.newAnswers()
	s.fields = newFieldManagers(s.scheme)
	s.discovery = newDiscovery(func() *resources.Table { return s.current().table })
	s.definitions = s.newDefinitions()
	s.hooks = s.newHooks()
	s.admission = s.newAdmission()
	s.expirer = s.newExpirer()
	s.handler = s.newHandler()
	if err := s.definitions.load(ctx); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.bootstrap(ctx); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.expirer.load(ctx); err != nil {
		s.Close()
		return nil, fmt.Errorf("listing the objects that expire: %w", err)
	}
	s.repair = startPeriodic(opts.Clock, serviceip.RepairInterval, s.repairServices)
	s.compactor = startCompactor(opts.Store, opts.Clock, opts.CompactionInterval, opts.Logger)
	s.ready.Store(true)
	s.startRegistrar()
	return s, nil
}

func setDefaults(opts *Options) {
	if opts.Clock == nil {
		opts.Clock = clock.Real()
	}
	if opts.Random == nil {
		opts.Random = clock.NewRandom(clock.NewSeed())
	}
	if opts.Resources == nil {
		opts.Resources = resources.Builtin()
	}
	if opts.CompactionInterval == 0 {
		opts.CompactionInterval = 5 * time.Minute
	}
	if opts.MaxWatchTime == 0 {
		opts.MaxWatchTime = time.Hour
	}
	if opts.KubeVersion == "" {
		opts.KubeVersion = DefaultVersion
	}
	if opts.Authorizer == nil {
		opts.Authorizer = auth.AlwaysAllow{}
	}
}

// Handler is the whole handler chain.
func (s *Server) Handler() http.Handler { return s.handler }

// Writes is the record of who wrote what, and why.
func (s *Server) Writes() *record.Log { return s.log }

// objects returns what a row's objects are kept in.
func (s *Server) objects(row *resources.Resource) *storage.Objects {
	if row.Storage != nil {
		return s.stored[row.Storage.Resource]
	}
	return s.stored[row.GVR()]
}

// Close ends all watches, waits for the requests being served, and stops the watch
// caches. The store stays open.
func (s *Server) Close() {
	s.stopOnce.Do(func() {
		s.ready.Store(false)
		s.inFlight.shut()
		close(s.done)
	})
	s.compactor.stop()
	s.repair.stop()
	s.registrar.Load().stop()
	s.expirer.stop()
	s.hooks.Close()
	s.inFlight.wait()
	s.definitions.stop()
	for _, objects := range s.stored {
		objects.Close()
	}
}
