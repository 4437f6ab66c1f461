package nodes

import (
	"errors"
	"net/netip"
	"testing"
)

func TestBlocks(t *testing.T) {
	var b blocks
	for _, tt := range []struct {
		pods int64
		want string
	}{
		{110, "10.244.0.0/24"},
		{250, "10.244.1.0/24"},
		{500, "10.244.2.0/23"},
		{1000, "10.244.4.0/22"},
		{5000, "10.244.32.0/19"},
		{0, "10.244.64.0/24"},
	} {
		got, err := b.take(tt.pods)
		if err != nil || got.String() != tt.want {
			t.Errorf("take(%d) = %v, %v; want %s", tt.pods, got, err, tt.want)
		}
	}
	b.hold(netip.MustParsePrefix("192.168.0.0/24"))
	b.hold(netip.MustParsePrefix("10.250.3.0/24"))
	if got, err := b.take(1); err != nil || got.String() != "10.250.4.0/24" {
		t.Errorf("after hold: %v, %v", got, err)
	}
	if _, err := b.take(1 << 20); err == nil {
		t.Error("took a block for a million pods")
	}
	for {
		if _, err := b.take(60000); err != nil {
			break
		}
	}
}

// Ranges go round: what was given back comes after all that was never dealt.
func TestBlocksGoRound(t *testing.T) {
	var b blocks
	first, err := b.take(1)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := b.take(1)
	b.release(first)
	for i := 2; i < MaxNodes; i++ {
		got, err := b.take(253)
		if err != nil || got == first {
			t.Fatalf("range %d is %v, %v", i, got, err)
		}
		if i == 3071 && got.String() != "10.255.255.0/24" || i == 3072 && got.String() != "10.192.0.0/24" || i == MaxNodes-1 && got.String() != "10.243.255.0/24" {
			t.Errorf("range %d is %v", i, got)
		}
	}
	if got, err := b.take(1); err != nil || got != first {
		t.Errorf("got %v, %v; want %v, which was given back", got, err, first)
	}
	if _, err := b.take(1); !errors.Is(err, ErrTooManyNodes) {
		t.Errorf("with no range left: %v", err)
	}
	// Two nodes may hold addresses of one unit.
	half := netip.MustParsePrefix("10.244.1.128/25")
	b.hold(half)
	b.release(second)
	if got, err := b.take(1); err == nil {
		t.Errorf("took %v, of which a part is held", got)
	}
	b.release(half)
	if got, err := b.take(1); err != nil || got != second {
		t.Errorf("got %v, %v", got, err)
	}
	b.hold(netip.MustParsePrefix("fd00::/64"))
	b.hold(netip.MustParsePrefix("0.0.0.0/0"))
	b.release(netip.MustParsePrefix("0.0.0.0/0"))
}

func TestNodeAddressesGoRound(t *testing.T) {
	a := nodeAddresses{next: nodeAddressCount - 1}
	if got := a.take(); got.String() != "172.31.255.254" {
		t.Errorf("the last is %v", got)
	}
	a.hold(netip.MustParseAddr("172.18.0.2"))
	a.hold(netip.MustParseAddr("172.18.0.2"))
	a.release(netip.MustParseAddr("172.18.0.2"))
	if got := a.take(); got.String() != "172.18.0.3" {
		t.Errorf("after the last comes %v", got)
	}
}

func TestAddressPool(t *testing.T) {
	p := newAddressPool(netip.MustParsePrefix("10.244.3.0/29"))
	taken := netip.MustParseAddr("10.244.3.3")
	if !p.reserve(taken) || p.reserve(taken) || p.reserve(netip.MustParseAddr("10.244.4.1")) {
		t.Error("reserve")
	}
	var got []string
	for a := p.take(); a.IsValid(); a = p.take() {
		got = append(got, a.String())
	}
	if len(got) != 4 || got[0] != "10.244.3.2" || got[1] != "10.244.3.4" || got[3] != "10.244.3.6" {
		t.Errorf("took %v", got)
	}
	p.release(taken)
	p.release(taken)
	if a := p.take(); a != taken {
		t.Errorf("took %v, want what was given back", a)
	}
	if a := p.take(); a.IsValid() {
		t.Errorf("took %v of an empty range", a)
	}
}
