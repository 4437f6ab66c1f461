package members

import (
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDecide(t *testing.T) {
	all := []string{RoleControllers, RoleScheduler, RoleAddresses, RoleNodes}
	both := map[string][]string{"a": all, "b": all}
	shardOfA, shardOfB := "", ""
	for i := range Shards {
		if role := ShardRole(i); Winner(both, RoleNodes, role) == "a" {
			shardOfA = role
		} else {
			shardOfB = role
		}
	}
	other := map[string]string{"a": "b", "b": "a"}
	single := Winner(both, RoleScheduler, RoleScheduler)
	table := []struct {
		name    string
		members map[string][]string
		self    string
		role    string
		holder  string
		want    Decision
	}{
		{"a lone member takes a shard", map[string][]string{"a": all}, "a", shardOfB, "", Take},
		{"a member runs its shard", both, "a", shardOfA, "a", Run},
		{"a member takes its free shard", both, "a", shardOfA, "", Take},
		{"a member leaves a free shard to its winner", both, "a", shardOfB, "", Keep},
		{"a member releases a shard that another should have", both, "a", shardOfB, "a", Release},
		{"a member waits for the release", both, "b", shardOfB, "a", Keep},
		{"a member takes over its shard from a dead one", both, "a", shardOfA, "dead", Take},
		{"a member leaves the dead one's shard to its winner", both, "b", shardOfA, "dead", Keep},
		{"a role stays with its live holder", both, single, RoleScheduler, other[single], Keep},
		{"a holder runs its role though another would win", both, other[single], RoleScheduler, other[single], Run},
		{"a free role goes to its winner", both, single, RoleScheduler, "", Take},
		{"a free role does not go to another", both, other[single], RoleScheduler, "", Keep},
		{"a member takes no role that it cannot run", map[string][]string{"a": {RoleNodes}}, "a", RoleScheduler, "", Keep},
		{"a member releases what it cannot run", map[string][]string{"a": {RoleNodes}}, "a", RoleScheduler, "a", Release},
		{"a role of a live member that cannot run it is free", map[string][]string{"a": all, "b": nil}, "a", RoleScheduler, "b", Take},
	}
	for _, test := range table {
		view := &View{Self: test.self, Members: test.members, Roles: map[string]RoleState{test.role: {test.holder, 7}}}
		if got := Decide(view, test.role); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

// TestOneMemberActs checks that whatever the state of a role is, members with the same view do
// not both take it, and that repeated decisions give it to exactly one.
func TestOneMemberActs(t *testing.T) {
	all := []string{RoleScheduler, RoleNodes}
	for n := 1; n <= 5; n++ {
		live := map[string][]string{}
		for i := range n {
			live[fmt.Sprintf("m%d", i)] = all
		}
		for _, role := range append([]string{RoleScheduler}, ShardRole(0), ShardRole(17)) {
			for _, holder := range []string{"", "dead", "m0"} {
				for range 3 {
					next, takes := holder, 0
					for self := range live {
						switch Decide(&View{Self: self, Members: live, Roles: map[string]RoleState{role: {Holder: holder}}}, role) {
						case Take:
							next, takes = self, takes+1
						case Release:
							next = ""
						}
					}
					if holder = next; takes > 1 {
						t.Errorf("%d members take %s", takes, role)
					}
				}
				if _, ok := live[holder]; !ok {
					t.Errorf("of %d members, %q has %s", n, holder, role)
				}
			}
		}
	}
}

func TestSpread(t *testing.T) {
	members := map[string][]string{}
	for i := range 3 {
		members[Name(fmt.Sprintf("host-%d", i))] = []string{RoleNodes}
	}
	counts := map[string]int{}
	for i := range Shards {
		counts[Winner(members, RoleNodes, ShardRole(i))]++
	}
	for name, n := range counts {
		if n < Shards/10 {
			t.Errorf("%s wins %d of %d shards", name, n, Shards)
		}
	}
	used := map[int]bool{}
	for i := range 10 * Shards {
		used[ShardOf(fmt.Sprintf("node-%d", i))] = true
	}
	if len(used) < Shards*9/10 {
		t.Errorf("%d nodes are in %d shards", 10*Shards, len(used))
	}
}

func TestLiveness(t *testing.T) {
	for roles, limit := range map[string]time.Duration{RoleNodes: LeaseDuration, "": IdleSilence} {
		var l Liveness
		start := time.Unix(1000, 0)
		lease := func(version string) []*coordinationv1.Lease {
			return []*coordinationv1.Lease{{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: version, Annotations: map[string]string{RolesAnnotation: roles}}}}
		}
		expect := func(after time.Duration, want bool) {
			t.Helper()
			if got := l.Live("a", start.Add(after)); got != want {
				t.Errorf("roles %q: live after %v: %v", roles, after, got)
			}
		}
		expect(0, false)
		l.Observe(lease("1"), start)
		expect(limit-1, true)
		l.Observe(lease("1"), start.Add(limit))
		expect(limit, false)
		l.Observe(lease("2"), start.Add(limit))
		expect(2*limit-1, true)
		l.Observe(nil, start.Add(limit+1))
		expect(limit+1, false)
	}
}
