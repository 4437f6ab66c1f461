package kubeletsim

import (
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/containers"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// newContainers returns the container runtime of all nodes. It knows pods as podEntry shows them.
func (k *network) newContainers(makers *makers) *containers.Runtime {
	return containers.New(containers.Options{
		Network: k.fabric, Certificate: k.Certificate, RouterCertificate: k.RouterCertificate, Serve: k.serve, Socket: k.socket, Exchange: k.exchange,
		Client: k.opts.Client, AsNode: k.asNode, ConfigOf: k.opts.ConfigOf, WatchVolumes: k.watchVolumes, Images: k.images, AssumesSecrets: makers.in,
		Clock: k.opts.Clock, Ledger: k.opts.Ledger, Logger: k.opts.Logger,
	})
}

// watchVolumes calls deleted for each PersistentVolume that is deleted from now on.
func (k *network) watchVolumes(deleted func(*corev1.PersistentVolume)) error {
	lost := func(obj any) {
		if volume, ok := obj.(*corev1.PersistentVolume); ok {
			deleted(volume)
		}
	}
	err := k.handle(k.informers.PersistentVolumes().Informer(), func(any) {}, lost)
	if err == nil {
		k.informers.Start(k.ended)
	}
	return err
}

var _ containers.Pod = (*podEntry)(nil)

// See returns the latest snapshot of the pod for readers other than its worker.
func (e *podEntry) See() containers.Shown {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.changed == nil {
		e.changed = make(chan struct{})
	}
	return containers.Shown{Pod: e.annotate(e.pod), State: e.shown, Gone: !e.goneAt.IsZero(), GoneAt: e.goneAt, Changed: e.changed}
}

// annotated returns the pod with what its images' profiles say.
func (e *podEntry) annotated(pod *corev1.Pod) *corev1.Pod {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.annotate(pod)
}

// annotate keeps the last result. It requires the lock.
func (e *podEntry) annotate(pod *corev1.Pod) *corev1.Pod {
	if at := e.images.Changes(); e.seenOf != pod || e.seenAt != at {
		e.seen, e.seenOf, e.seenAt = e.images.Annotate(pod), pod, at
	}
	return e.seen
}

// forgetAnnotated drops what annotate keeps, so that a pod at rest takes no memory for it. The next reader makes it again.
func (e *podEntry) forgetAnnotated() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen, e.seenOf = nil, nil
}

// Occur passes an occurrence to the pod's worker, and queues the pod.
func (e *podEntry) Occur(f lifecycle.Occurrence) {
	e.occur(f)
	pod, _, _ := e.look()
	e.sync(pod.UID)
}

// Files returns the files and processes of the pod's containers.
func (e *podEntry) Files() *containers.Files { return &e.files }
