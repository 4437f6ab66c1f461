package serviceip

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const (
	v4     = corev1.IPv4Protocol
	v6     = corev1.IPv6Protocol
	single = corev1.IPFamilyPolicySingleStack
	prefer = corev1.IPFamilyPolicyPreferDualStack
	need   = corev1.IPFamilyPolicyRequireDualStack
)

// wish sets the fields about families as a client requests them.
func wish(policy corev1.IPFamilyPolicy, families []corev1.IPFamily, ips ...string) func(*corev1.ServiceSpec) {
	return func(spec *corev1.ServiceSpec) {
		if policy != "" {
			spec.IPFamilyPolicy = &policy
		}
		spec.IPFamilies = families
		if len(ips) > 0 {
			spec.ClusterIP, spec.ClusterIPs = ips[0], ips
		}
	}
}

// got formats a Service's policy and its addresses' families.
func got(svc *corev1.Service) string {
	words := []string{string(*svc.Spec.IPFamilyPolicy)}
	for i, family := range svc.Spec.IPFamilies {
		words = append(words, string(family))
		if i < len(svc.Spec.ClusterIPs) && svc.Spec.ClusterIPs[i] != corev1.ClusterIPNone {
			if ip := netip.MustParseAddr(svc.Spec.ClusterIPs[i]); familyOf(ip) != family {
				words = append(words, "but has "+ip.String())
			}
		}
	}
	if n := len(svc.Spec.ClusterIPs); n != len(svc.Spec.IPFamilies) {
		words = append(words, "with other addresses")
	}
	return strings.Join(words, " ")
}

func TestNewServicesOfFamilies(t *testing.T) {
	one, two, six := []string{"10.96.0.0/16"}, []string{"10.96.0.0/16", "fd00:1::/108"}, []string{"fd00:1::/108", "10.96.0.0/16"}
	for name, tt := range map[string]struct {
		cluster []string
		wish    func(*corev1.ServiceSpec)
		want    string
	}{
		"nothing said":                  {two, wish("", nil), "SingleStack IPv4"},
		"nothing said, IPv6 first":      {six, wish("", nil), "SingleStack IPv6"},
		"one family":                    {two, wish("", []corev1.IPFamily{v6}), "SingleStack IPv6"},
		"preferred on one":              {one, wish(prefer, nil), "PreferDualStack IPv4"},
		"preferred on two":              {two, wish(prefer, nil), "PreferDualStack IPv4 IPv6"},
		"preferred, IPv6 first":         {two, wish(prefer, []corev1.IPFamily{v6}), "PreferDualStack IPv6 IPv4"},
		"required":                      {two, wish(need, nil), "RequireDualStack IPv4 IPv6"},
		"required on one":               {one, wish(need, nil), "this cluster is not configured for dual-stack services"},
		"both, on one":                  {one, wish(prefer, []corev1.IPFamily{v4, v6}), `spec.ipFamilies[1]: Invalid value: "IPv6": not configured on this cluster`},
		"address of the second":         {two, wish("", nil, "fd00:1::5"), "SingleStack IPv6"},
		"both addresses":                {two, wish(prefer, nil, "10.96.0.5", "fd00:1::5"), "PreferDualStack IPv4 IPv6"},
		"one address, second preferred": {two, wish(prefer, nil, "fd00:1::5"), "PreferDualStack IPv6 IPv4"},
		"both addresses, single":        {two, wish(single, nil, "10.96.0.5", "fd00:1::5"), `must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified`},
		"both addresses, nothing said":  {two, wish("", nil, "10.96.0.5", "fd00:1::5"), `must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified`},
		"both families, single":         {two, wish(single, []corev1.IPFamily{v4, v6}), `must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified`},
		"address of no family":          {one, wish("", nil, "fd00:1::5"), `spec.clusterIPs[0]: Invalid value: ["fd00:1::5"]: IPv6 is not configured on this cluster`},
	} {
		t.Run(name, func(t *testing.T) {
			svc := service("a", tt.wish)
			if err := newWorld(t, tt.cluster...).process(1, PortRange{}).put(svc); err != nil {
				if !strings.HasSuffix(err.Error(), tt.want) {
					t.Errorf("got %v\nwant %s", err, tt.want)
				}
				return
			}
			if got := got(svc); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestChangesOfFamilies(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(*corev1.ServiceSpec)
		change func(*corev1.ServiceSpec)
		want   string
		locks  int
	}{
		"to two":       {wish(single, nil), func(s *corev1.ServiceSpec) { *s.IPFamilyPolicy = need }, "RequireDualStack IPv4 IPv6", 2},
		"to preferred": {wish(single, nil), func(s *corev1.ServiceSpec) { *s.IPFamilyPolicy = prefer }, "PreferDualStack IPv4 IPv6", 2},
		"to a certain second": {wish(single, nil), func(s *corev1.ServiceSpec) {
			*s.IPFamilyPolicy = need
			s.ClusterIPs = append(s.ClusterIPs, "fd00:1::9")
		}, "RequireDualStack IPv4 IPv6", 2},
		"to one": {wish(need, nil), func(s *corev1.ServiceSpec) { *s.IPFamilyPolicy = single }, "SingleStack IPv4", 1},
		"to one, said in full": {wish(need, nil), func(s *corev1.ServiceSpec) {
			*s.IPFamilyPolicy = single
			s.ClusterIPs, s.IPFamilies = s.ClusterIPs[:1], s.IPFamilies[:1]
		}, "SingleStack IPv4", 1},
		"one address less":         {wish(need, nil), func(s *corev1.ServiceSpec) { s.ClusterIPs = s.ClusterIPs[:1] }, "must be 'SingleStack' to release the secondary cluster IP", 2},
		"one family less":          {wish(need, nil), func(s *corev1.ServiceSpec) { s.IPFamilies = s.IPFamilies[:1] }, "must be 'SingleStack' to release the secondary IP family", 2},
		"required, then preferred": {wish(need, nil), func(s *corev1.ServiceSpec) { *s.IPFamilyPolicy = prefer }, "PreferDualStack IPv4 IPv6", 2},
		"no change":                {wish(prefer, nil), func(*corev1.ServiceSpec) {}, "PreferDualStack IPv4 IPv6", 2},
		"policy left out":          {wish(prefer, nil), func(s *corev1.ServiceSpec) { s.IPFamilyPolicy = nil }, "PreferDualStack IPv4 IPv6", 2},
		"to a name, and locks are gone": {wish(need, nil), func(s *corev1.ServiceSpec) {
			*s = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, IPFamilyPolicy: pointer(single)}
		}, "SingleStack", 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := newWorld(t, "10.96.0.0/16", "fd00:1::/108").process(1, PortRange{})
			svc := service("a", tt.before)
			if err := p.put(svc); err != nil {
				t.Fatal(err)
			}
			svc = svc.DeepCopy()
			tt.change(&svc.Spec)
			if err := p.put(svc); err != nil {
				if !strings.HasSuffix(err.Error(), tt.want) {
					t.Errorf("got %v\nwant %s", err, tt.want)
				}
			} else if got := got(svc); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if len(p.locks.byName) != tt.locks {
				t.Errorf("%d locks", len(p.locks.byName))
			}
		})
	}
}

// TestThePreferredSecondFamilyIsNotForced keeps a Service unchanged that was created
// when the cluster had one family.
func TestThePreferredSecondFamilyIsNotForced(t *testing.T) {
	p := newWorld(t, "10.96.0.0/16", "fd00:1::/108").process(1, PortRange{})
	old := service("a", wish(prefer, []corev1.IPFamily{v4}, "10.96.0.5"))
	p.services[old.UID] = old
	svc := old.DeepCopy()
	svc.Labels = map[string]string{"a": "b"}
	if err := p.put(svc); err != nil {
		t.Fatal(err)
	}
	if got := got(svc); got != "PreferDualStack IPv4" {
		t.Errorf("got %s", got)
	}
}

func TestNetwork(t *testing.T) {
	for text, want := range map[string]struct {
		first, last  string
		size, static uint64
	}{
		"10.96.0.0/16":    {"10.96.0.1", "10.96.255.254", 65534, 256},
		"10.0.0.7/28":     {"10.0.0.1", "10.0.0.14", 14, 0},
		"10.0.0.0/24":     {"10.0.0.1", "10.0.0.254", 254, 16},
		"fd00::/108":      {"fd00::1", "fd00::f:ffff", 1<<20 - 1, 256},
		"fd00:1:2:3::/64": {"fd00:1:2:3::1", "fd00:1:2:3:ffff:ffff:ffff:ffff", 1<<64 - 1, 256},
	} {
		n := newNetwork(netip.MustParsePrefix(text))
		if n.first.String() != want.first || n.last.String() != want.last || n.size != want.size || n.static() != want.static {
			t.Errorf("%s: %s to %s, %d, %d of them static", text, n.first, n.last, n.size, n.static())
		}
		if n.size < 1<<63 && n.at(n.size-1) != n.last || n.at(0) != n.first || n.contains(n.last.Next()) || n.contains(n.first.Prev()) || !n.contains(n.last) {
			t.Errorf("%s: ends at %s", text, n.at(n.size-1))
		}
	}
}

func TestParsePortRange(t *testing.T) {
	for text, want := range map[string]PortRange{
		"30000-32767": {30000, 32767}, "30000+10": {30000, 30010}, "80": {80, 80}, " 1 - 2 ": {1, 2},
		"": {}, "x": {}, "5-4": {}, "0-4": {}, "1-70000": {}, "65535+1": {}, "-": {}, "1-2-3": {},
	} {
		if r, err := ParsePortRange(text); r != want || (err == nil) != (want != PortRange{}) {
			t.Errorf("%q: %v, %v", text, r, err)
		}
	}
}

func FuzzParsePortRange(f *testing.F) {
	f.Add("30000-32767")
	f.Add("1+65534")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParsePortRange(text)
		if err != nil {
			return
		}
		if r.First < 1 || r.Last > 65535 || r.Last < r.First || r.static() >= r.size() && r.size() > 16 {
			t.Errorf("%q: %v", text, r)
		}
		if again, err := ParsePortRange(r.String()); err != nil || again != r {
			t.Errorf("%q: %v becomes %v, %v", text, r, again, err)
		}
	})
}

func TestFamiliesOf(t *testing.T) {
	ranges := []netip.Prefix{netip.MustParsePrefix("fd00::/108"), netip.MustParsePrefix("10.0.0.0/8")}
	if got := familiesOf(ranges); !slices.Equal(got, []corev1.IPFamily{v6, v4}) {
		t.Errorf("got %v", got)
	}
}
