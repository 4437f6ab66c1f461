package faults

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/network/ends"
)

func TestMatches(t *testing.T) {
	for pattern, texts := range map[string]map[string]bool{
		"db.*":     {"db.shop": true, "db.": true, "adb.x": false, "db": false},
		"*.a.*b":   {"x.a.b": true, ".a.cb": true, "x.a.bc": false},
		"*":        {"": true, "x": true},
		"mes?.org": {"mesh.org": true, "mes.org": false},
		"**a":      {"aaa": true, "ab": false},
		"":         {"": true, "a": false},
	} {
		for text, want := range texts {
			if got := matches(pattern, text); got != want {
				t.Errorf("%q matches %q: %v", pattern, text, got)
			}
		}
	}
}

func peer(namespace, name, node, zone string, of ...string) *ends.Peer {
	p := &ends.Peer{Node: node, Zone: zone, Services: func() (list []types.NamespacedName) {
		for _, s := range of {
			list = append(list, types.NamespacedName{Namespace: namespace, Name: s})
		}
		return list
	}}
	if name != "" {
		p.Pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}}}
	}
	return p
}

func set(t *testing.T, texts ...string) (all ends.Set) {
	t.Helper()
	for _, text := range texts {
		e, err := ends.Parse("shop", text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// A rule meets the packets between its ends, whichever of them connects.
func TestPackets(t *testing.T) {
	web, db := peer("shop", "web", "n1", "a"), peer("shop", "db", "n2", "b", "db")
	outside := &ends.Peer{}
	for _, c := range []struct {
		from, to    []string
		direction   Direction
		a, b        *ends.Peer
		there, back bool
	}{
		{[]string{"app=web"}, []string{"svc/db"}, Both, web, db, true, true},
		{[]string{"app=web"}, []string{"svc/db"}, Both, db, web, true, true},
		{[]string{"app=web"}, []string{"svc/db"}, To, web, db, true, false},
		{[]string{"app=web"}, []string{"svc/db"}, To, db, web, false, true},
		{[]string{"app=web"}, []string{"svc/db"}, From, web, db, false, true},
		{[]string{"app=web"}, []string{"svc/other"}, Both, web, db, false, false},
		{[]string{"app=web"}, nil, To, web, outside, true, false},
		{[]string{"app=web"}, []string{"outside"}, Both, web, outside, true, true},
		{[]string{"app=web"}, []string{"outside"}, Both, web, db, false, false},
		{[]string{"zone/a"}, []string{"zone/b"}, Both, web, db, true, true},
		{[]string{"node/n1", "node/n3"}, []string{"pod/shop/db"}, Both, web, db, true, true},
		{[]string{"namespace/shop"}, []string{"namespace/shop"}, To, web, db, true, true},
		{nil, nil, Both, web, db, true, true},
	} {
		r := &Rule{From: set(t, c.from...), To: set(t, c.to...), Direction: c.direction}
		if there, back := r.packets(c.a, c.b); there != c.there || back != c.back {
			t.Errorf("%v to %v (%s): %v, %v", c.from, c.to, c.direction, there, back)
		}
	}
}

// A name is met if it is the pattern's, absolute or completed by the search list of the source.
func TestNamesOfQueries(t *testing.T) {
	searches := []string{"shop.svc.cluster.local", "svc.cluster.local", "cluster.local"}
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"db.shop.svc.cluster.local", "db.shop.svc.cluster.local", true},
		{"db", "db.shop.svc.cluster.local", true},
		{"DB", "db.shop.svc.cluster.local", true},
		{"db.shop", "db.shop.svc.cluster.local", true},
		{"db.shop.svc", "db.shop.svc.cluster.local", true},
		{"d?", "db.shop.svc.cluster.local", true},
		{"db", "db.bank.svc.cluster.local", false},
		{"db", "mydb.shop.svc.cluster.local", false},
		{"db.", "db.shop.svc.cluster.local", false},
		{"db.", "db", true},
		{"example.com", "example.com", true},
		{"example.com", "www.example.com", false},
		{"*.example.com", "www.example.com", true},
	} {
		s := &Set{}
		s.Add(&Rule{DNS: &DNS{Names: []string{c.pattern}, Code: dns.ServFail}, Percent: 100})
		if _, by := s.Answers(peer("shop", "web", "n1", "a"), searches, &Chance{})(c.name, dns.A); (by != nil) != c.want {
			t.Errorf("%q and the query of %s: %v", c.pattern, c.name, by)
		}
	}
}

// Equal seeds have equal effects, others do not, and a question hears what is certain.
func TestChance(t *testing.T) {
	s := &Set{}
	s.Add(&Rule{Title: "loss", Loss: 60, Percent: 100, Direction: Both})
	s.Add(&Rule{Title: "delay", Delay: time.Second, Spread: time.Second, Percent: 100, Direction: To, From: set(t, "app=web")})
	web, db := peer("shop", "web", "n1", "a"), peer("shop", "db", "n2", "b")
	var sum time.Duration
	for seed := range uint64(200) {
		a, b := s.Between(web, db, &Chance{Seed: seed}), s.Between(web, db, &Chance{Seed: seed})
		if a.Connect != b.Connect || a.Exchange != b.Exchange || a.Dropped != b.Dropped {
			t.Fatalf("the seed %d has two effects: %+v, %+v", seed, a, b)
		}
		if a.RoundTrip < time.Second || a.RoundTrip > 2*time.Second || a.Connect < a.RoundTrip {
			t.Errorf("the seed %d: %+v", seed, a)
		}
		sum += a.RoundTrip
	}
	if mean := sum / 200; mean < 1400*time.Millisecond || mean > 1600*time.Millisecond {
		t.Errorf("the mean of the delays is %v", mean)
	}
	if asked := s.Between(web, db, &Chance{Never: true}); asked.Connect != time.Second || asked.Dropped != nil || len(asked.Hits) != 2 {
		t.Errorf("a question has the effect %+v", asked)
	}
}
