package decide

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

func prefix(text string) netip.Prefix { return netip.MustParsePrefix(text) }

func networks(t *testing.T, reserved []netip.Prefix, clusters ...Cluster) *Networks {
	t.Helper()
	n, err := New(clusters, reserved...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// take takes networks for nodes until none is left, at most as many as given.
func take(t *testing.T, n *Networks, most int) []string {
	t.Helper()
	var all []string
	for i := range most {
		taken, ok := n.Take(fmt.Sprint("n", i), types.UID(fmt.Sprint(i)))
		if !ok {
			break
		}
		all = append(all, fmt.Sprint(taken))
	}
	return all
}

func TestOrder(t *testing.T) {
	for name, test := range map[string]struct {
		clusters []Cluster
		reserved []netip.Prefix
		want     []string
	}{
		"IPv4":               {[]Cluster{{prefix("10.244.0.0/22"), 24}}, nil, []string{"[10.244.0.0/24]", "[10.244.1.0/24]", "[10.244.2.0/24]", "[10.244.3.0/24]"}},
		"one network":        {[]Cluster{{prefix("10.244.0.0/24"), 24}}, nil, []string{"[10.244.0.0/24]"}},
		"host bits":          {[]Cluster{{prefix("10.244.3.9/23"), 24}}, nil, []string{"[10.244.2.0/24]", "[10.244.3.0/24]"}},
		"small networks":     {[]Cluster{{prefix("10.0.0.252/30"), 32}}, nil, []string{"[10.0.0.252/32]", "[10.0.0.253/32]", "[10.0.0.254/32]", "[10.0.0.255/32]"}},
		"large networks":     {[]Cluster{{prefix("0.0.0.0/0"), 2}}, nil, []string{"[0.0.0.0/2]", "[64.0.0.0/2]", "[128.0.0.0/2]", "[192.0.0.0/2]"}},
		"IPv6":               {[]Cluster{{prefix("fd00:1::/62"), 64}}, nil, []string{"[fd00:1::/64]", "[fd00:1:0:1::/64]", "[fd00:1:0:2::/64]", "[fd00:1:0:3::/64]"}},
		"IPv6, low half":     {[]Cluster{{prefix("fd00:1::/110"), 112}}, nil, []string{"[fd00:1::/112]", "[fd00:1::1:0/112]", "[fd00:1::2:0/112]", "[fd00:1::3:0/112]"}},
		"IPv6, both halves":  {[]Cluster{{prefix("fd00:1::/63"), 65}}, nil, []string{"[fd00:1::/65]", "[fd00:1:0:0:8000::/65]", "[fd00:1:0:1::/65]", "[fd00:1:0:1:8000::/65]"}},
		"dual stack":         {[]Cluster{{prefix("10.244.0.0/23"), 24}, {prefix("fd00::/56"), 64}}, nil, []string{"[10.244.0.0/24 fd00::/64]", "[10.244.1.0/24 fd00:0:0:1::/64]"}},
		"reserved small":     {[]Cluster{{prefix("10.244.0.0/22"), 24}}, []netip.Prefix{prefix("10.244.1.128/28")}, []string{"[10.244.0.0/24]", "[10.244.2.0/24]", "[10.244.3.0/24]"}},
		"reserved large":     {[]Cluster{{prefix("10.244.0.0/21"), 24}}, []netip.Prefix{prefix("10.244.0.0/22")}, []string{"[10.244.4.0/24]", "[10.244.5.0/24]", "[10.244.6.0/24]", "[10.244.7.0/24]"}},
		"reserved all":       {[]Cluster{{prefix("10.244.0.0/21"), 24}}, []netip.Prefix{prefix("10.0.0.0/8")}, nil},
		"reserved elsewhere": {[]Cluster{{prefix("10.244.0.0/24"), 24}}, []netip.Prefix{prefix("10.96.0.0/12"), prefix("fd00::/108")}, []string{"[10.244.0.0/24]"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := take(t, networks(t, test.reserved, test.clusters...), 20); !slices.Equal(got, test.want) {
				t.Errorf("took %v, want %v", got, test.want)
			}
		})
	}
}

func TestBadClusters(t *testing.T) {
	for name, c := range map[string]Cluster{
		"smaller than a network": {prefix("10.0.0.0/24"), 23},
		"longer than an address": {prefix("10.0.0.0/24"), 33},
		"too many of IPv6":       {prefix("fd00::/47"), 64},
	} {
		if _, err := New([]Cluster{c}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestNodes follows some nodes through their lives.
func TestNodes(t *testing.T) {
	n := networks(t, nil, Cluster{prefix("10.244.0.0/22"), 24})
	expect := func(what, node, uid, want string) {
		t.Helper()
		taken, ok := n.Take(node, types.UID(uid))
		if got := fmt.Sprint(taken, ok); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	expect("first", "a", "1", "[10.244.0.0/24] true")
	expect("the same again", "a", "1", "[10.244.0.0/24] true")
	if err := n.Reserve("b", "2", []string{"10.244.1.0/24"}); err != nil {
		t.Fatal(err)
	}
	expect("stated", "b", "2", "[] true")
	expect("after the stated one", "c", "3", "[10.244.2.0/24] true")
	expect("replaced", "a", "4", "[10.244.3.0/24] true")
	expect("released last", "d", "5", "[10.244.0.0/24] true")
	expect("none left", "e", "6", "[] false")
	if n.Free("e") || !n.Free("b") || n.Free("b") {
		t.Error("Free of what is held, and only of that, returns true")
	}
	expect("one left", "e", "6", "[10.244.1.0/24] true")
	// The networks in a Node's spec replace the networks that were taken for it.
	if err := n.Reserve("e", "6", []string{"192.168.0.0/24"}); err != nil {
		t.Fatal(err)
	}
	expect("left again", "f", "7", "[10.244.1.0/24] true")
	if err := n.Reserve("g", "8", []string{"10.244.0.0"}); err == nil {
		t.Error("a network without a prefix is held")
	}
	if uid, ok := n.Holder("f"); uid != "7" || !ok {
		t.Error(uid, ok)
	}
}

// TestNothingIsTakenOfOneRangeOnly checks that nothing is lost if the second range has no network
// left.
func TestNothingIsTakenOfOneRangeOnly(t *testing.T) {
	n := networks(t, nil, Cluster{prefix("10.244.0.0/22"), 24}, Cluster{prefix("fd00::/63"), 64})
	take(t, n, 2)
	for range 10 {
		if _, ok := n.Take("late", "late"); ok {
			t.Fatal("a third network of two")
		}
	}
	n.Free("n0")
	if _, ok := n.Take("late", "late"); !ok {
		t.Error("networks were lost")
	}
}

// TestNeverOverlapping takes, holds and frees at random and compares all networks with each other.
func TestNeverOverlapping(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.IntRange(20, 28).Draw(t, "bits")
		n, err := New([]Cluster{{prefix("10.244.0.0/20"), bits}, {prefix("fd00::/56"), rapid.SampledFrom([]int{56, 60, 64, 72}).Draw(t, "bits of IPv6")}})
		if err != nil {
			t.Fatal(err)
		}
		has := map[string][]netip.Prefix{}
		for range 60 {
			node := fmt.Sprint("n", rapid.IntRange(0, 9).Draw(t, "node"))
			switch rapid.IntRange(0, 3).Draw(t, "act") {
			case 0:
				n.Free(node)
				delete(has, node)
			case 1:
				stated := prefix(rapid.SampledFrom([]string{"10.244.0.0/16", "10.244.2.0/23", "10.244.3.64/26", "10.0.0.0/24", "fd00::/60"}).Draw(t, "stated"))
				if n.holders[node].stated {
					continue // a Node's networks do not change
				}
				if err := n.Reserve(node, "held", []string{stated.String()}); err != nil {
					t.Fatal(err)
				}
				has[node] = []netip.Prefix{stated}
			default:
				if len(has[node]) > 0 {
					continue
				}
				taken, ok := n.Take(node, "taken")
				if !ok {
					continue
				}
				for _, network := range taken {
					for other, held := range has {
						if slices.ContainsFunc(held, network.Overlaps) {
							t.Fatalf("%s got %s, and %s has %v", node, network, other, held)
						}
					}
				}
				has[node] = taken
			}
		}
	})
}

// BenchmarkFull measures the search for the last network of a large cluster.
func BenchmarkFull(b *testing.B) {
	n, err := New([]Cluster{{prefix("10.0.0.0/8"), 24}})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1<<16 - 1 {
		n.Take(fmt.Sprint(i), "1")
	}
	for b.Loop() {
		n.Take("last", "1")
		n.Free("last")
	}
}
