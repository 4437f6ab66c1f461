package kubeletsim

import (
	"context"
	"fmt"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
	"minikcm.dev/minikcm/kubeletsim/internal/podcertificates"
)

// certificateJitter is the most that is added to the time at which a certificate is refreshed.
const certificateJitter = 5 * time.Minute

// certificateWatch is the watch of the requests of pods. It starts with the first of them.
type certificateWatch struct {
	*common
	once sync.Once
	err  error
}

// sync takes the next step with each credential of a pod that has not ended. It
// returns when it must be called again; zero if only after a change of a request.
func (w *certificateWatch) sync(ctx context.Context, n *nodes.Node, e *podEntry, pod *corev1.Pod) (again time.Time, err error) {
	credentials := e.files.Certificates(pod)
	if len(credentials) == 0 || e.state.Ended || lifecycle.Finished(pod) {
		return time.Time{}, nil
	}
	if err := w.watch(); err != nil {
		return time.Time{}, err
	}
	for _, c := range credentials {
		at, err := w.syncOne(ctx, n, pod, c)
		if err != nil {
			return time.Time{}, fmt.Errorf("the certificate of volume %s: %w", c.Volume, err)
		}
		again = sooner(again, at)
	}
	return again, nil
}

func (w *certificateWatch) syncOne(ctx context.Context, n *nodes.Node, pod *corev1.Pod, c *podcertificates.Credential) (again time.Time, err error) {
	if name := c.Open(); name != "" {
		request, err := w.opts.Client.CertificatesV1().PodCertificateRequests(pod.Namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), isNotOurs(err):
			again = c.Missing(w.opts.Clock.Now())
		case err != nil:
			return again, fmt.Errorf("reading PodCertificateRequest %s: %w", name, err)
		default:
			w.report(n, pod, c.Observe(request, w.delay(n)))
		}
	}
	now := w.opts.Clock.Now()
	w.report(n, pod, c.Late(now))
	due, at := c.Due(now)
	if !due {
		return sooner(again, at), nil
	}
	return again, w.request(ctx, n, pod, c)
}

// delay returns a random delay, so that pods do not refresh their certificates all at
// once.
func (w *certificateWatch) delay(n *nodes.Node) time.Duration {
	if w.opts.Random == nil {
		return 0
	}
	return time.Duration(w.opts.Random.Keyed("certificates/"+n.Name).Float64() * float64(certificateJitter))
}

func (w *certificateWatch) request(ctx context.Context, n *nodes.Node, pod *corev1.Pod, c *podcertificates.Credential) error {
	account, err := w.opts.Client.CoreV1().ServiceAccounts(pod.Namespace).Get(ctx, pod.Spec.ServiceAccountName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the pod's ServiceAccount: %w", err)
	}
	node, err := w.nodeLister.Get(n.Name)
	if err != nil {
		return fmt.Errorf("reading the pod's node: %w", err)
	}
	request, key, err := c.NewRequest(pod, account, node)
	if err != nil {
		return err
	}
	created, err := w.opts.Client.CertificatesV1().PodCertificateRequests(pod.Namespace).Create(ctx, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating a PodCertificateRequest: %w", err)
	}
	c.Requested(created.Name, key, created.CreationTimestamp.Time)
	return nil
}

// watch syncs the pod of each PodCertificateRequest that changes.
func (w *certificateWatch) watch() error {
	w.once.Do(func() {
		changed := func(obj any) {
			request, ok := obj.(*certificatesv1.PodCertificateRequest)
			if !ok {
				return
			}
			if e := w.pods.get(request.Spec.PodUID); e != nil {
				e.stale.Store(true)
				w.loop.Add(podKey(string(request.Spec.PodUID)))
			}
		}
		if w.err = w.handle(w.informers.PodCertificateRequests().Informer(), changed, changed); w.err == nil {
			w.informers.Start(w.ended)
		}
	})
	return w.err
}
