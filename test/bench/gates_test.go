//go:build unix

package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
)

const (
	gateBindings = 5_000
	gateClients  = 16
	// Short turns: what else the machine does in a second is then in both figures.
	gateRounds  = 60
	gateCreates = 400
	gateGets    = 2_000
)

// BenchmarkGates measures what access control costs a user: creates and gets of pods in
// memory, by a user with a role among 5,000 bindings, compared with the mode AlwaysAllow in
// the same run. The two take turns, so that both get the same of the machine.
func BenchmarkGates(b *testing.B) {
	for b.Loop() {
		ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
		open, _ := startAPI(ctx, b, func(o *minikcm.Options) { o.Security.AuthorizationModes = []string{apiserver.AuthorizeAlways} })
		guarded, _ := startAPI(ctx, b)
		// Both hold the same objects, so that only the mode differs.
		bindMany(ctx, b, open)
		bindMany(ctx, b, guarded)
		for round := range gateRounds {
			first, second := func() { gateRates(ctx, b, open, "open", round) }, func() { gateRates(ctx, b, guarded, "with roles", round) }
			if round%2 == 1 {
				first, second = second, first
			}
			first()
			second()
		}
		for _, verb := range []string{"create", "get"} {
			for _, figure := range []string{"", ", processor"} {
				measured.compare(verb+" with roles"+figure, verb+" open"+figure)
			}
		}
		cancel()
	}
}

// bindMany gives the user jane a role, and as many others theirs.
func bindMany(ctx context.Context, b *testing.B, cluster *minikcm.Cluster) {
	b.Helper()
	bindings := cluster.Client().RbacV1().RoleBindings(metav1.NamespaceDefault)
	rate(b, gateClients, gateBindings, func(i int) error {
		user := "jane"
		if i > 1 {
			user = fmt.Sprintf("user-%d", i)
		}
		_, err := bindings.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		}, metav1.CreateOptions{})
		return err
	})
	// The clusters run no controllers: edit has no aggregated rules.
	roles := cluster.Client().RbacV1().ClusterRoles()
	role, err := roles.Get(ctx, "edit", metav1.GetOptions{})
	if err != nil {
		b.Fatal(err)
	}
	role.AggregationRule = nil
	role.Rules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods", "services"}, Verbs: []string{"create", "get"}}}
	if _, err := roles.Update(ctx, role, metav1.UpdateOptions{}); err != nil {
		b.Fatal(err)
	}
}

func gateRates(ctx context.Context, b *testing.B, cluster *minikcm.Cluster, name string, round int) {
	b.Helper()
	client, err := kubernetes.NewForConfig(apiserver.Protobuf(cluster.ConfigFor("jane")))
	if err != nil {
		b.Fatal(err)
	}
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	gateRate(b, "create "+name, gateCreates, func(i int) error {
		_, err := pods.Create(ctx, benchPod(round*gateCreates+i), metav1.CreateOptions{})
		return err
	})
	gateRate(b, "get "+name, gateGets, func(i int) error {
		_, err := pods.Get(ctx, benchPod(1+i%gateCreates).Name, metav1.GetOptions{})
		return err
	})
}

// gateRate measures n requests: their rate, and the processor time of each, which depends less
// on what else the machine does.
func gateRate(b *testing.B, name string, n int, request func(i int) error) {
	b.Helper()
	before := clock.ProcessorTime()
	measured.add(name, "/s", rate(b, gateClients, n, request))
	measured.add(name+", processor", "us", float64((clock.ProcessorTime()-before).Microseconds())/float64(n))
}
