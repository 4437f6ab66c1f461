package minikcm

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/assembly/bootstrap"
	"minikcm.dev/minikcm/internal/assembly/identity"
	"minikcm.dev/minikcm/internal/assembly/parts"
	"minikcm.dev/minikcm/internal/assembly/storage"
	"minikcm.dev/minikcm/internal/assembly/timing"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/simulatedmetrics"
	"minikcm.dev/minikcm/kubeletsim"
	"minikcm.dev/minikcm/store"
)

// This file has the options of the stages of the assembly.

// timing returns the options of the clock.
func (o *Options) timing() timing.Options {
	return timing.Options{Mode: o.Clock.Mode, Speed: o.Clock.Speed, Start: o.Clock.Start, Driven: o.Clock.Driven, Seed: o.Seed}
}

// storage returns the options of the store.
func (o *Options) storage() *storage.Options {
	return &storage.Options{
		DataDir: o.Storage.DataDir, Snapshot: o.Storage.Snapshot, Etcd: o.Sharing.Etcd, RevisionBump: o.Security.Identity.revisionBump(),
		Faults: o.Faults.Store, Logger: o.Logger,
	}
}

// revisionGap separates the revisions of a cluster from its replacement's revisions. It exceeds the
// number of revisions that are written after Close reads the last one.
const revisionGap = 1_000_000

// revisionBump returns by how much to raise the revisions of a store with this identity.
func (i *Identity) revisionBump() uint64 {
	if i == nil || i.revision <= 0 {
		return 0
	}
	return uint64(i.revision) + revisionGap
}

// sharesStore reports whether other processes may use the store, too.
func (o *Options) sharesStore() bool { return len(o.Sharing.Etcd.Endpoints) > 0 }

// identity returns the options of the identity of a cluster with this store.
func (o *Options) identity(s store.Store) identity.Options {
	i := identity.Options{DataDir: o.Storage.DataDir, Files: o.identityFiles()}
	if o.Security.Identity != nil {
		i.Given = &o.Security.Identity.keys
	}
	if o.sharesStore() {
		i.Shared = s
	}
	return i
}

// identityFiles returns the files of the serving certificate and of the keys of tokens.
func (o *Options) identityFiles() identity.Files {
	tokens := o.Security.ServiceAccountTokens
	return identity.Files{CertFile: o.API.Certificate.CertFile, KeyFile: o.API.Certificate.KeyFile, SigningKeyFile: tokens.SigningKeyFile, KeyFiles: tokens.KeyFiles}
}

// partOptions returns the options of the parts.
func (a *assembly) partOptions(f foundation, local *apiserver.Local) (parts.Options, error) {
	o := &a.opts
	selected, err := o.selectedControllers()
	if err != nil {
		return parts.Options{}, err
	}
	network, err := o.network()
	if err != nil {
		return parts.Options{}, err
	}
	p := parts.Options{
		Timing: f.timing, Identity: f.identity, Local: local, Group: a.group, Gates: o.gates(), Heartbeats: f.heartbeats, Metrics: f.metrics,
		Logger: o.Logger, Notices: o.Notices,
		Selected: selected, Settings: o.controllerSettings(), LeaderElection: o.Sharing.LeaderElection,
		Shares: o.shares(), AdvertiseAddress: o.API.AdvertiseAddress, LoadBalancers: network.balancers, Nodes: o.kubelets(), InCloud: o.inCloud(), Stages: o.Nodes.Stages.watches(),
		// Without the mode Node, no role allows a kubelet anything, as upstream.
		Admins: len(o.Security.AuthorizationModes) > 0 && !slices.Contains(o.Security.AuthorizationModes, apiserver.AuthorizeNode),
	}
	if !o.Controllers.NoScheduler {
		p.Scheduler = o.schedulerOptions
	}
	return p, nil
}

// kubelets returns the options of the kubelets.
func (o *Options) kubelets() kubeletsim.Options {
	k := kubeletsim.Options{
		Nodes: o.Nodes.Count, Node: o.Nodes.Spec, Pools: o.Nodes.Pools, ManageNodes: o.Nodes.Manage, Latencies: o.Nodes.Latencies,
		KubeletVersion: o.kubernetesVersion(), AwaitPodCIDRs: o.Nodes.PodNetworks.Allocate, Families: o.families(), Seed: o.Seed, Observe: o.observes(), ImageCatalog: o.Nodes.ImageCatalog,
	}
	if o.Clock.Mode == "" || o.Clock.Mode == clock.ModeReal {
		k.Gather = heartbeatGrid
	}
	return k
}

// heartbeatGrid is the grid of the kubelets' heartbeats on real time. On other clocks, all events have
// the times that the seed determines.
const heartbeatGrid = 100 * time.Millisecond

// serverOptions returns the options of the API server.
func (a *assembly) serverOptions(f foundation, p *parts.Parts) (apiserver.Options, error) {
	o := &a.opts
	network, err := o.network()
	if err != nil {
		return apiserver.Options{}, err
	}
	proxyClient, err := f.identity.FrontProxy.Client(identity.FrontProxyUser)
	if err != nil {
		return apiserver.Options{}, err
	}
	return apiserver.Options{
		Store: f.storage.Store, Snapshots: f.storage.Snapshots, SharedStore: o.sharesStore(), StoreWaits: f.storeWaits(),
		CompactionInterval: o.Storage.CompactionInterval, HistoryRevisions: o.Storage.History.Revisions, HistoryDuration: o.Storage.History.Duration,
		Encryption: f.files.encryption, ReloadEncryption: o.Storage.ReloadEncryptionConfig, DefaultObjects: o.defaultObjects(),
		Clock: f.timing.Clock, Ledger: f.timing.Ledger, Logger: o.Logger, Notices: o.Notices,

		ServiceRanges: network.ranges, NodePorts: network.nodePorts, AdvertiseAddress: network.advertise,
		Resources: o.resources(), KubeVersion: o.kubernetesVersion(), SplitLogs: o.gates().Enabled(featuregates.PodLogsQuerySplitStreams),
		MaxReads: o.API.MaxRequests, MaxWrites: o.API.MaxMutatingRequests, MemoryLimit: o.API.MemoryLimit, RecordedWrites: o.API.RecordedWrites,
		Flags: o.API.Flags, Gatherer: o.API.Gatherer, Collected: f.metrics,

		AuthorizationModes: o.Security.AuthorizationModes, AuthorizationWebhook: o.Security.AuthorizationWebhook, Denied: o.denied,
		AuthorizationConfig: f.files.authorization, AuthorizationConfigFile: o.Security.AuthorizationConfig, Authentication: o.Security.Authentication,
		TokenKey: f.identity.Signing, TrustedTokenKeys: f.identity.Trusted, TokenIssuers: o.Security.ServiceAccountTokens.Issuers, APIAudiences: o.Security.ServiceAccountTokens.Audiences,
		Admission: o.admission(), SkipSimulated: o.Security.IgnoreSimulatedWebhooks, Audit: f.files.audit, ProxyClient: proxyClient,

		Kubelets: p.Kubelets, Peers: p.Peers, Scheduler: p.SchedulerHealth(), Controllers: p.ControllersHealth,
		Heartbeats: f.heartbeats, Faults: f.apiFaults, Metrics: o.metricsSource(f.timing.Clock, p.Kubelets),
	}, nil
}

// storeWaits returns apiserver.Options.StoreWaits. On virtual time, requests may always
// wait for the store: one that a new fault delays would otherwise be in flight and stop
// time. On other clocks they may wait only while a fault is injected, because it costs
// half a microsecond a request.
func (f *foundation) storeWaits() func() bool {
	switch {
	case f.storage.Faults == nil:
		return nil
	case f.timing.Virtual != nil:
		return func() bool { return true }
	}
	return f.storage.Faults.Broken
}

// metricsSource returns the source of the metrics APIs, or nil without them.
func (o *Options) metricsSource(c clock.Clock, k *kubeletsim.Kubelets) apiserver.MetricsSource {
	if o.API.NoMetricsAPI {
		return nil
	}
	return simulatedmetrics.New(c, o.Seed, k.Rules)
}

// defaultObjects returns the objects that the API server creates if there are none of their kind.
// Loaded objects come later, and may have StorageClasses of their own.
func (o *Options) defaultObjects() []runtime.Object {
	if o.Storage.Objects != nil || !o.provisionsVolumes() {
		return nil
	}
	return []runtime.Object{bootstrap.NewStorageClass()}
}

// provisionsVolumes reports whether the controllers include the simulated provisioner.
func (o *Options) provisionsVolumes() bool {
	selected, err := o.selectedControllers()
	return err == nil && slices.Contains(selected, controllers.VolumeProvisioner) // Validate has reported an error
}

// denied reports that a controller or the scheduler lacks a permission.
func (o *Options) denied(user string, err error) {
	switch {
	case !parts.IsPart(user):
	case o.Security.Denied != nil:
		o.Security.Denied(user, err)
	default:
		o.Notices.Error(err, "A component of the cluster lacks a permission", "user", user)
	}
}
