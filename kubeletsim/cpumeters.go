package kubeletsim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/internal/usage"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// cpuMeters count the CPU that containers use, by node. A node is only counted when its counters are
// read: the usage since the last reading is then computed in steps of usage.Window, and of a long time in
// maxCPUSteps longer steps.
type cpuMeters struct {
	mu     sync.Mutex
	byNode map[string]*cpuMeter
}

// maxCPUSteps bounds the work of reading counters that were not read for long.
const maxCPUSteps = 240

// cpuMeter is the counters of a node's containers, up to a time.
type cpuMeter struct {
	mu   sync.Mutex
	upTo time.Time
	runs map[cpuRun]*usage.Counters
	// total is the CPU time of all runs that were counted, also of those that have ended.
	total time.Duration
	// amounts sums the Amounts of all these runs.
	amounts usage.Counters
}

// cpuRun is one run of a container.
type cpuRun struct {
	pod       types.UID
	container string
	since     time.Time
}

func (m *cpuMeters) of(node string) *cpuMeter {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byNode == nil {
		m.byNode = map[string]*cpuMeter{}
	}
	if m.byNode[node] == nil {
		m.byNode[node] = &cpuMeter{runs: map[cpuRun]*usage.Counters{}}
	}
	return m.byNode[node]
}

// meteredContainer is a running container with its counters.
type meteredContainer struct {
	pod  *corev1.Pod
	used usage.Container
	usage.Counters
}

// reading is the counters of a node at a time.
type reading struct {
	at time.Time
	// containers are the running containers, sorted.
	containers []meteredContainer
	// cpu is the CPU time that all containers have used since the node was first counted. amounts
	// has their use of other resources, multiplied by the seconds.
	cpu     time.Duration
	amounts map[corev1.ResourceName]float64
}

// meter brings the counters of a node up to date and returns them.
func (k *meters) meter(ctx context.Context, n *nodes.Node) (reading, error) {
	carriers, err := k.loadCarriers(ctx)
	if err != nil {
		return reading{}, err
	}
	m := k.cpuMeters.of(n.Name)
	m.mu.Lock()
	defer m.mu.Unlock()
	pods, until := k.podObjects(n.Name), usage.SampleTime(k.opts.Clock.Now())
	from := m.from(pods, until)
	for _, at := range cpuSteps(from, until) {
		used, err := k.usedAt(n, pods, carriers, at)
		if err != nil {
			return reading{}, err
		}
		m.add(pods, used, at, at.Sub(from))
		from = at
	}
	m.upTo = until
	used, err := k.usedAt(n, pods, carriers, until)
	if err != nil {
		return reading{}, err
	}
	return reading{at: until, containers: m.read(pods, used), cpu: m.total, amounts: maps.Clone(m.amounts.Amounts)}, nil
}

// from returns the time up to which the node is counted: before the first reading, the start of its
// oldest running container.
func (m *cpuMeter) from(pods []*corev1.Pod, until time.Time) time.Time {
	if !m.upTo.IsZero() {
		return m.upTo
	}
	from := until
	for _, pod := range pods {
		for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			if running := status.State.Running; running != nil && running.StartedAt.Time.Before(from) {
				from = running.StartedAt.Time
			}
		}
	}
	return from
}

// cpuSteps returns the ends of the steps from one time to another, which is a time of a sample.
func cpuSteps(from, until time.Time) []time.Time {
	step := usage.Window
	if n := until.Sub(from) / usage.Window; n >= maxCPUSteps {
		step *= n/maxCPUSteps + 1
	}
	var ends []time.Time
	for at := usage.SampleTime(from).Add(step); at.Before(until); at = at.Add(step) {
		ends = append(ends, at)
	}
	if from.Before(until) {
		ends = append(ends, until)
	}
	return ends
}

// add counts a step that ends at a time, in which the pods have used so much.
func (m *cpuMeter) add(pods []*corev1.Pod, used [][]usage.Container, at time.Time, step time.Duration) {
	for i, pod := range pods {
		for j := range used[i] {
			c := &used[i][j]
			run := cpuRun{pod.UID, c.Name, c.Since}
			if m.runs[run] == nil {
				m.runs[run] = &usage.Counters{}
			}
			before := m.runs[run].CPU
			ran := min(step, at.Sub(c.Since))
			m.runs[run].Add(ran, c)
			m.amounts.AddAmounts(ran, c)
			m.total += m.runs[run].CPU - before
		}
	}
}

// read returns the counters of running containers, sorted, and drops all other counters.
func (m *cpuMeter) read(pods []*corev1.Pod, used [][]usage.Container) []meteredContainer {
	var all []meteredContainer
	runs := map[cpuRun]*usage.Counters{}
	for i, pod := range pods {
		for j := range used[i] {
			run := cpuRun{pod.UID, used[i][j].Name, used[i][j].Since}
			counters := m.runs[run]
			if counters == nil {
				counters = &usage.Counters{}
			}
			runs[run] = counters
			shown := *counters
			shown.Amounts = maps.Clone(counters.Amounts)
			all = append(all, meteredContainer{pod, used[i][j], shown})
		}
	}
	m.runs = runs
	slices.SortFunc(all, func(a, b meteredContainer) int {
		return cmp.Or(strings.Compare(a.pod.Namespace, b.pod.Namespace), strings.Compare(a.pod.Name, b.pod.Name), strings.Compare(a.used.Name, b.used.Name))
	})
	return all
}

// usedAt returns the usage of each pod on a node at a time, as the metrics API shows it.
func (k *meters) usedAt(n *nodes.Node, pods []*corev1.Pod, carriers map[string][]usage.Object, at time.Time) ([][]usage.Container, error) {
	model := k.model()
	shares := map[string]*usage.Shares{}
	used := make([][]usage.Container, len(pods))
	for i, pod := range pods {
		in := pod.Namespace
		if _, known := shares[in]; !known && len(carriers[in]) > 0 {
			all, err := k.podLister.Pods(in).List(labels.Everything())
			if err != nil {
				return nil, fmt.Errorf("listing the pods in namespace %s: %w", in, err)
			}
			shares[in] = model.Shares(carriers[in], all, at)
		}
		used[i] = model.Running(pod, shares[in], at)
	}
	usage.ShareCPU(n.Capacity()[corev1.ResourceCPU], used)
	return used, nil
}

// errNotListed is the error of metrics that are read before the objects that carry loads are listed.
var errNotListed = errors.New("the objects with shared loads could not be listed")

// loadCarriers returns the objects that carry shared loads, by namespace. They are watched from the
// first call on.
func (k *meters) loadCarriers(ctx context.Context) (map[string][]usage.Object, error) {
	informers := []cache.SharedIndexInformer{k.informers.Services().Informer(), k.informers.Deployments().Informer(), k.informers.StatefulSets().Informer()}
	k.informers.Start(k.ended)
	carriers := map[string][]usage.Object{}
	for _, informer := range informers {
		if !cache.WaitFor(ctx, Component, informer.HasSyncedChecker()) {
			return nil, errNotListed
		}
		for _, obj := range informer.GetStore().List() {
			if o, ok := obj.(usage.Object); ok && usage.CarriesLoad(o) {
				carriers[o.GetNamespace()] = append(carriers[o.GetNamespace()], o)
			}
		}
	}
	return carriers, nil
}
