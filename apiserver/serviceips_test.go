package apiserver

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/store"
)

// TestServiceAddresses follows the addresses of Services through creates, dry runs,
// changes of type, deletes, and a new server over the same store.
func TestServiceAddresses(t *testing.T) {
	memory := store.NewMemory()
	start := func() (*Server, *kubernetes.Clientset) {
		s, err := New(t.Context(), Options{Store: memory, CompactionInterval: -1})
		if err != nil {
			t.Fatal(err)
		}
		client, err := kubernetes.NewForConfig(s.Config("admin", "system:masters"))
		if err != nil {
			t.Fatal(err)
		}
		return s, client
	}
	first, client := start()
	services := client.CoreV1().Services("default")
	wanted := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, ClusterIP: "10.96.0.10", Ports: []corev1.ServicePort{{Port: 80, NodePort: 30005}}},
	}
	create := func(ctx context.Context, name string, opts metav1.CreateOptions) (*corev1.Service, error) {
		svc := wanted.DeepCopy()
		svc.Name = name
		return services.Create(ctx, svc, opts)
	}
	if _, err := create(t.Context(), "dry", metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatalf("dry run: %v", err)
	}
	svc, err := create(t.Context(), "a", metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("after a dry run: %v", err)
	}
	if svc.Spec.ClusterIP != "10.96.0.10" || svc.Spec.Ports[0].NodePort != 30005 || len(svc.Spec.IPFamilies) != 1 {
		t.Errorf("got %+v", svc.Spec)
	}
	if _, err := create(t.Context(), "b", metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("the same again: %v", err)
	}

	svc.Spec.Type, svc.Spec.Ports[0].NodePort = corev1.ServiceTypeClusterIP, 0
	if svc, err = services.Update(t.Context(), svc, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	port, err := services.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "port"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30005}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("a port that another gave up: %v", err)
	}
	if ip := port.Spec.ClusterIP; ip == "" || ip == svc.Spec.ClusterIP {
		t.Errorf("allocated %q", ip)
	}
	first.Close()

	second, client := start()
	defer second.Close()
	services = client.CoreV1().Services("default")
	if _, err := create(t.Context(), "b", metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("the same from a new server: %v", err)
	}
	for _, name := range []string{"a", "port"} {
		if err := services.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := create(t.Context(), "b", metav1.CreateOptions{}); err != nil {
		t.Errorf("after both are gone: %v", err)
	}
}
