package apiserver

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/apiserver/internal/serviceip"
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

// TestServersShareAStore lets two servers allocate concurrently from ranges that are
// just large enough: every Service gets its own address and node port, and the locks
// are deleted with the Services.
func TestServersShareAStore(t *testing.T) {
	memory := store.NewMemory()
	var clients []*kubernetes.Clientset
	for range 2 {
		s, err := New(t.Context(), Options{
			Store: memory, CompactionInterval: -1, SharedStore: true,
			ServiceRanges: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/26"), netip.MustParsePrefix("fd00::/122")},
			NodePorts:     serviceip.PortRange{First: 30000, Last: 30059},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		client, err := kubernetes.NewForConfig(s.Config("admin", "system:masters"))
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, client)
	}
	const services = 60
	policy := corev1.IPFamilyPolicyRequireDualStack
	var wg sync.WaitGroup
	for worker := range 6 {
		wg.Go(func() {
			for i := worker; i < services; i += 6 {
				_, err := clients[worker%2].CoreV1().Services("default").Create(t.Context(), &corev1.Service{
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", i)},
					Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, IPFamilyPolicy: &policy, Ports: []corev1.ServicePort{{Port: 80}}},
				}, metav1.CreateOptions{})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	list, err := clients[0].CoreV1().Services("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[any]string{}
	for _, svc := range list.Items {
		for _, ip := range svc.Spec.ClusterIPs {
			if other := seen[ip]; other != "" {
				t.Errorf("%s and %s share %s", svc.Name, other, ip)
			}
			seen[ip] = svc.Name
		}
		if port := svc.Spec.Ports[0].NodePort; port != 0 {
			if other := seen[port]; other != "" {
				t.Errorf("%s and %s share %d", svc.Name, other, port)
			}
			seen[port] = svc.Name
		}
	}
	if len(seen) != 3*services+1 {
		t.Errorf("%d addresses and ports for %d services", len(seen), services)
	}
	for i := range services {
		if err := clients[1-i%2].CoreV1().Services("default").Delete(t.Context(), fmt.Sprint("s", i), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	locks, err := clients[0].NetworkingV1().IPAddresses().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(locks.Items) != 1 || locks.Items[0].Name != "10.0.0.1" {
		t.Errorf("%d locks are left, %v", len(locks.Items), err)
	}
}

// TestServiceCIDRsAddedLater uses a new range as soon as it exists, also after the
// default one was deleted.
func TestServiceCIDRsAddedLater(t *testing.T) {
	s, err := New(t.Context(), Options{Store: store.NewMemory(), CompactionInterval: -1, ServiceRanges: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/29")}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client, err := kubernetes.NewForConfig(s.Config("admin", "system:masters"))
	if err != nil {
		t.Fatal(err)
	}
	create := func(name, ip string) (*corev1.Service, error) {
		return client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.ServiceSpec{ClusterIP: ip, Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{})
	}
	for i := range 5 {
		if _, err := create(fmt.Sprint("s", i), ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := create("more", ""); !apierrors.IsInternalError(err) {
		t.Errorf("from a full range: %v", err)
	}
	if _, err := client.NetworkingV1().ServiceCIDRs().Create(t.Context(), &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: "more"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.9.0.0/24"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	svc, err := create("more", "")
	if err != nil || !strings.HasPrefix(svc.Spec.ClusterIP, "10.9.0.") {
		t.Errorf("from the new range: %v, %v", svc.Spec.ClusterIP, err)
	}
	if _, err := create("certain", "10.9.0.5"); err != nil {
		t.Error(err)
	}
}
