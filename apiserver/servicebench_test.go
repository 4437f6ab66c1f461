package apiserver_test

import (
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/store"
)

// BenchmarkCreateServices creates 1,000 Services per iteration in an embedded etcd,
// with one client and with sixteen: addresses and node ports are locked in the store.
func BenchmarkCreateServices(b *testing.B) {
	const services = 1000
	for _, kind := range []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort} {
		for _, clients := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/clients=%d", kind, clients), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					h := startEmbedded(b)
					client := h.client()
					b.StartTimer()
					var wg sync.WaitGroup
					for worker := range clients {
						wg.Go(func() {
							for i := worker; i < services; i += clients {
								_, err := client.CoreV1().Services("default").Create(b.Context(), &corev1.Service{
									ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", i)},
									Spec:       corev1.ServiceSpec{Type: kind, Ports: []corev1.ServicePort{{Port: 80}}, Selector: map[string]string{"app": "web"}},
								}, metav1.CreateOptions{})
								if err != nil {
									b.Error(err)
									return
								}
							}
						})
					}
					wg.Wait()
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*services), "us/service")
			})
		}
	}
}

func startEmbedded(b *testing.B) *harness {
	embedded, err := store.StartEmbedded(b.Context(), store.EmbeddedOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return start(b, func(o *apiserver.Options) { o.Store = embedded })
}
