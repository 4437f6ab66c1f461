package scheduler

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/scheduler/config"
	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	"minikcm.dev/minikcm/controllers/internal/scheduler/queue"
	"minikcm.dev/minikcm/internal/events"
)

// Simulation decides where pods would go, with the objects that the API server had at one moment and the
// changes of its methods. It writes nothing and preempts nothing. One goroutine uses it at a time.
type Simulation struct{ s *Scheduler }

// Simulate lists all kinds that decisions depend on. now is the cluster's clock. A nil configuration is the
// default one. The caller must close the simulation.
func Simulate(ctx context.Context, client kubernetes.Interface, now clock.Clock, c *config.Config) (*Simulation, error) {
	ledger, random, kinds := clock.NewLedger(), clock.NewRandom(1), informers.KindsOf(client, nil)
	s, err := newScheduler(&env.Env{
		Clock: now, Ledger: ledger, Random: random, Informers: kinds, Logger: klog.FromContext(ctx),
		Recorder: events.NewRecorder(client.CoreV1(), now, ledger, random, Name),
	}, client, Options{Config: c})
	if err != nil {
		return nil, err
	}
	m := &Simulation{s}
	if err := s.showAll(ctx, client, kinds); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Close ends the simulation.
func (m *Simulation) Close() { m.s.queue.Close() }

// AddNode adds a node, and RemoveNode removes one, whose pods have to be removed before.
func (m *Simulation) AddNode(node *corev1.Node)    { m.s.nodeHandler().OnAdd(node, false) }
func (m *Simulation) RemoveNode(node *corev1.Node) { m.s.nodeHandler().OnDelete(node) }

// AddPod adds a pod that is on a node, and RemovePod removes one.
func (m *Simulation) AddPod(pod *corev1.Pod)    { m.s.podHandler().OnAdd(pod, false) }
func (m *Simulation) RemovePod(pod *corev1.Pod) { m.s.podHandler().OnDelete(pod) }

// Place decides on which node a new pod goes, and adds it there. The error, in kube-scheduler's words, is
// why it goes nowhere.
func (m *Simulation) Place(pod *corev1.Pod) (placed *corev1.Pod, err error) {
	pod = pod.DeepCopy()
	pod.Spec.NodeName, pod.Status = "", corev1.PodStatus{}
	d, _ := m.decide(pod)
	switch {
	case d.Err != nil:
		return nil, d.Err
	case d.Diagnosis != nil:
		return nil, errors.New(d.Diagnosis.Message())
	}
	m.s.start = d.Next
	pod.Spec.NodeName = d.Node
	m.AddPod(pod)
	return pod, nil
}

// Against returns why a pod would go on none of the nodes; nil: it would go on one.
func (m *Simulation) Against(pod *corev1.Pod) ([]plugins.NodeReasons, error) {
	d, snapshot := m.decide(pod)
	switch {
	case d.Err != nil:
		return nil, d.Err
	case d.Diagnosis == nil:
		return nil, nil
	}
	return d.Diagnosis.Against(snapshot), nil
}

// decide decides about a pod. That of another scheduler is treated as one of this.
func (m *Simulation) decide(pod *corev1.Pod) (plugins.Decision, *framework.Snapshot) {
	s := m.s
	if s.profileOf(pod) == nil {
		pod = pod.DeepCopy()
		pod.Spec.SchedulerName = Name
	}
	s.snapshot = s.cache.UpdateSnapshot(s.snapshot)
	return plugins.Decide(s.inputOn(&queue.Attempt{Info: framework.NewPodInfo(pod), Nominated: pod.Status.NominatedNodeName})), s.snapshot
}
