package storageversiongarbagecollector

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	versionclient "k8s.io/client-go/kubernetes/typed/apiserverinternal/v1alpha1"
	leaseclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	versionlisters "k8s.io/client-go/listers/apiserverinternal/v1alpha1"
	leaselisters "k8s.io/client-go/listers/coordination/v1"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/members"
	"minikcm.dev/minikcm/internal/storageversions"
)

const historySteps = 150

// servers are the IDs of API servers, and resources the names of their StorageVersions.
var (
	servers   = []string{"apiserver-a", "apiserver-b", "apiserver-c"}
	resources = []string{"apps.deployments", "core.pods"}
)

// model is a world with API servers that start and end. The processes of one ID are numbered: the Lease and the
// entries of a process have its number, so that it is known whose an entry is.
type model struct {
	*modeltest.Run
	t         *rapid.T
	processes int
}

// versions and leases are the world as the controller's clients. versions checks each write.
type versions struct {
	versionclient.StorageVersionInterface
	m       *model
	writer  executor.Writer
	mistake mistake
}

type leases struct {
	leaseclient.LeaseInterface
	writer  executor.Writer
	mistake mistake
	cached  leaselisters.LeaseLister
}

// mistake is a planted one.
type mistake string

const (
	trustsCache    mistake = "the cache is trusted"
	noPrecondition mistake = "a deletion has no precondition"
	deafToLeases   mistake = "deleted Leases wake nothing"
	deafToVersions mistake = "StorageVersions wake nothing"
)

func (v versions) StorageVersions() versionclient.StorageVersionInterface { return v }

func (v versions) UpdateStatus(ctx context.Context, changed *apiserverinternalv1alpha1.StorageVersion, _ metav1.UpdateOptions) (*apiserverinternalv1alpha1.StorageVersion, error) {
	before, getErr := v.m.World.Get(ctx, changed)
	_, err := v.writer.Update(ctx, changed, "status")
	if err != nil || getErr != nil {
		return nil, errors.Join(err, getErr)
	}
	v.m.neverOfALivingServer(before.(*apiserverinternalv1alpha1.StorageVersion), changed)
	return changed, nil
}

func (v versions) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	v.m.act() // others act before the deletion reaches the server
	o, err := v.m.World.Get(ctx, &apiserverinternalv1alpha1.StorageVersion{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if err != nil {
		return err
	}
	live := o.(*apiserverinternalv1alpha1.StorageVersion)
	if v.mistake != noPrecondition && (live.UID != *opts.Preconditions.UID || live.ResourceVersion != *opts.Preconditions.ResourceVersion) {
		return apierrors.NewConflict(apiserverinternalv1alpha1.Resource("storageversions"), name, errors.New("it has changed"))
	}
	v.m.neverOfALivingServer(live, &apiserverinternalv1alpha1.StorageVersion{})
	return v.m.World.Delete(ctx, live)
}

func (l leases) Leases(string) leaseclient.LeaseInterface { return l }

func (l leases) Get(ctx context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	if l.mistake == trustsCache {
		return l.cached.Leases(members.Namespace).Get(name)
	}
	o, err := l.writer.Get(ctx, leaseOf(name))
	if err != nil {
		return nil, err
	}
	return o.(*coordinationv1.Lease), nil
}

func leaseOf(server string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: members.Namespace, Name: server, Labels: map[string]string{members.IdentityLabel: members.IdentityValue},
	}}
}

func newModel(t *rapid.T, planted mistake) *model {
	m := &model{Run: modeltest.NewRun(func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }), t: t}
	m.must(m.Actor(Name, func(a *modeltest.Actor) (loop.Reconciler, error) {
		known := leaselisters.NewLeaseLister(a.Watch(&coordinationv1.Lease{}))
		c := &Controller{
			clock: m.Clock, leases: known, versions: versionlisters.NewStorageVersionLister(a.Watch(&apiserverinternalv1alpha1.StorageVersion{})),
			leaseClient: leases{writer: a.Writer(), mistake: planted, cached: known}, client: versions{m: m, writer: a.Writer(), mistake: planted},
		}
		if planted != deafToLeases {
			a.OnEvent(&coordinationv1.Lease{}, c.wakeForLease)
		}
		if planted != deafToVersions {
			a.OnEvent(&apiserverinternalv1alpha1.StorageVersion{}, c.wakeForVersion)
		}
		return c, nil
	}))
	m.Other(m.start)
	m.Other(m.report)
	m.Other(m.end)
	return m
}

func (m *model) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

// act takes some steps of the others.
func (m *model) act() {
	for range rapid.IntRange(0, 2).Draw(m.t, "steps before a deletion") {
		m.Step()
	}
}

// start starts a process of an API server that is not running: it creates its Lease.
func (m *model) start(draw modeltest.Draw) bool {
	server := servers[draw(len(servers), "server to start")]
	if m.process(server) != "" {
		return false
	}
	m.processes++
	process := fmt.Sprintf("v%d", m.processes)
	lease := leaseOf(server)
	lease.Spec.HolderIdentity = &process
	_, err := m.World.Create(m.t.Context(), lease)
	m.must(err)
	return true
}

// report writes an entry of a running API server.
func (m *model) report(draw modeltest.Draw) bool {
	server, name := servers[draw(len(servers), "server that reports")], resources[draw(len(resources), "resource")]
	process := m.process(server)
	if process == "" {
		return false
	}
	like := &apiserverinternalv1alpha1.StorageVersion{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := m.World.Get(m.t.Context(), like); err != nil {
		_, err := m.World.Create(m.t.Context(), like)
		m.must(err)
	}
	m.World.Change(like, func(o plan.Object) {
		storageversions.Set(o.(*apiserverinternalv1alpha1.StorageVersion), apiserverinternalv1alpha1.ServerStorageVersion{
			APIServerID: server, EncodingVersion: process, DecodableVersions: []string{process},
		}, metav1.NewTime(m.Clock.Now()))
	})
	return true
}

// end deletes the Lease of an API server.
func (m *model) end(draw modeltest.Draw) bool {
	server := servers[draw(len(servers), "server to end")]
	if m.process(server) == "" {
		return false
	}
	m.must(m.World.Delete(m.t.Context(), m.lease(server)))
	return true
}

func (m *model) lease(server string) *coordinationv1.Lease {
	o, err := m.World.Get(m.t.Context(), leaseOf(server))
	if err != nil {
		return nil
	}
	return o.(*coordinationv1.Lease)
}

// process returns the process of an API server that has its Lease; empty: there is none.
func (m *model) process(server string) string {
	if lease := m.lease(server); lease != nil {
		return *lease.Spec.HolderIdentity
	}
	return ""
}

// neverOfALivingServer checks that a write removes no entry of a process that has a Lease.
func (m *model) neverOfALivingServer(before, after *apiserverinternalv1alpha1.StorageVersion) {
	kept := fmt.Sprint(after.Status.StorageVersions)
	for _, entry := range before.Status.StorageVersions {
		if !strings.Contains(kept, entry.APIServerID) && m.process(entry.APIServerID) == entry.EncodingVersion {
			m.t.Fatalf("the entry of %s was removed from %s, but it lives", entry.APIServerID, before.Name)
		}
	}
}

// onlyLivingServers checks that no StorageVersion has entries of servers without Leases, and that each has the
// common encoding version of its servers.
func (m *model) onlyLivingServers() {
	for _, v := range modeltest.List[*apiserverinternalv1alpha1.StorageVersion](m.World) {
		common := ""
		for i, entry := range v.Status.StorageVersions {
			if m.lease(entry.APIServerID) == nil {
				m.t.Fatalf("the entry of %s is still in %s", entry.APIServerID, v.Name)
			}
			if i == 0 {
				common = entry.EncodingVersion
			} else if entry.EncodingVersion != common {
				common = ""
			}
		}
		if stated := v.Status.CommonEncodingVersion; (stated == nil) != (common == "") || stated != nil && *stated != common {
			m.t.Fatalf("%s has in common %v, want %q", v.Name, stated, common)
		}
	}
}

// TestEntriesGo checks that no entry of a living API server is removed, and that the entries of the others are
// removed in the end, whenever servers start, report and end, and wherever the controller crashes.
func TestEntriesGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { entriesGo(t, "") })
}

func entriesGo(t *rapid.T, planted mistake) {
	m := newModel(t, planted)
	m.Crashes = true
	m.must(m.Steps(historySteps))
	m.Crashes = false
	m.must(m.Settle(10_000, time.Hour))
	m.onlyLivingServers()
}

// TestPlantedMistakesAreSeen checks that the property detects mistakes.
func TestPlantedMistakesAreSeen(t *testing.T) {
	for planted, want := range map[mistake]string{
		trustsCache: "but it lives", noPrecondition: "but it lives", deafToLeases: "is still in", deafToVersions: "is still in",
	} {
		t.Run(string(planted), func(t *testing.T) {
			modeltest.MustBreak(t, want, func(t *rapid.T) { entriesGo(t, planted) })
		})
	}
}
