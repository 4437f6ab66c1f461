package minikcm_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

// serverAlone are the options of a cluster that is an apiserver on an external etcd.
func serverAlone(etcd string) minikcm.Options {
	return minikcm.Options{
		Sharing:     minikcm.SharingOptions{Etcd: store.EtcdOptions{Endpoints: []string{etcd}}},
		Nodes:       minikcm.NodeOptions{Count: -1, Manage: minikcm.ManageNone},
		Controllers: minikcm.ControllerOptions{NoScheduler: true, Selected: []string{"-*"}},
	}
}

// startTogether starts n clusters at the same time.
func startTogether(t *testing.T, n int, opts minikcm.Options) []*minikcm.Cluster {
	t.Helper()
	clusters, errs := make([]*minikcm.Cluster, n), make([]error, n)
	var starting sync.WaitGroup
	for i := range n {
		starting.Go(func() { clusters[i], errs[i] = minikcm.Start(t.Context(), opts) })
	}
	starting.Wait()
	for i, c := range clusters {
		if errs[i] != nil {
			t.Errorf("starting cluster %d: %v", i, errs[i])
			continue
		}
		t.Cleanup(func() {
			if err := c.Close(); err != nil {
				t.Errorf("closing cluster %d: %v", i, err)
			}
		})
	}
	if t.Failed() {
		t.FailNow()
	}
	return clusters
}

// Processes on one etcd accept each other's certificates and tokens, also if they start at
// the same time.
func TestSharedIdentity(t *testing.T) {
	t.Parallel()
	clusters := startTogether(t, 3, serverAlone(storetest.StartEtcd(t, storetest.EtcdOptions{})))
	for i, from := range clusters {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("of-%d", i)}}
		made, err := from.Client().CoreV1().ServiceAccounts("kube-system").Create(t.Context(), account, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		token, err := from.Client().CoreV1().ServiceAccounts("kube-system").CreateToken(t.Context(), made.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for j, to := range clusters {
			config, err := from.HTTPSConfig()
			if err != nil {
				t.Fatal(err)
			}
			config.Host = "https://" + to.Address()
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token.Status.Token}}
			got, err := client.AuthenticationV1().TokenReviews().Create(t.Context(), review, metav1.CreateOptions{})
			if err != nil {
				t.Fatalf("the kubeconfig of process %d at process %d: %v", i, j, err)
			}
			if !got.Status.Authenticated {
				t.Errorf("a token of process %d at process %d: %s", i, j, got.Status.Error)
			}
		}
	}
}

// All processes have the identity that is given to the first one; an identity that is given to
// a later one must be the same.
func TestSharedIdentityGiven(t *testing.T) {
	t.Parallel()
	elsewhere := start(t, minikcm.Options{API: minikcm.APIOptions{NoHTTPS: true}, Nodes: minikcm.NodeOptions{Count: -1}})
	other := start(t, minikcm.Options{API: minikcm.APIOptions{NoHTTPS: true}, Nodes: minikcm.NodeOptions{Count: -1}})
	opts := serverAlone(storetest.StartEtcd(t, storetest.EtcdOptions{}))
	opts.Security.Identity = elsewhere.Identity()
	start(t, opts)
	start(t, opts) // the same again
	opts.Security.Identity = other.Identity()
	if c, err := minikcm.Start(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "/minikcm/identity): omit it") {
		t.Errorf("another identity: %v", err)
		if err == nil {
			_ = c.Close()
		}
	}
}

// A damaged identity in etcd is reported with its key, and not replaced.
func TestSharedIdentityDamaged(t *testing.T) {
	t.Parallel()
	opts := serverAlone(storetest.StartEtcd(t, storetest.EtcdOptions{}))
	external, err := store.DialEtcd(t.Context(), opts.Sharing.Etcd)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := external.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := external.Put(t.Context(), "/minikcm/identity", []byte(`{"caCert":""}`), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := minikcm.Start(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "/minikcm/identity in etcd cannot be used") {
		t.Errorf("with a damaged identity: %v", err)
	}
	kv, err := external.Get(t.Context(), "/minikcm/identity", 0)
	if err != nil || string(kv.Value) != `{"caCert":""}` {
		t.Errorf("afterwards there is %v, %v", kv, err)
	}
}
