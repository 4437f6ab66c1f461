package kubeletsim

import (
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
	b.skip(netip.MustParsePrefix("192.168.0.0/24"))
	b.skip(netip.MustParsePrefix("10.250.3.0/24"))
	if got, err := b.take(1); err != nil || got.String() != "10.250.4.0/24" {
		t.Errorf("after skip: %v, %v", got, err)
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
