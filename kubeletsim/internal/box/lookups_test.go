package box

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BusyBox 1.35 (ping) and BIND 9.18 (dig, host) print these outputs, but for times, numbers, and what a server's answers differ in.
func TestPing(t *testing.T) {
	for _, c := range []struct {
		script   string
		out, err string
		code     int
	}{
		{script: "ping -c 2 10.244.0.20; date +%s", out: "PING 10.244.0.20 (10.244.0.20): 56 data bytes\n64 bytes from 10.244.0.20: seq=0 ttl=63 time=0.500 ms\n64 bytes from 10.244.0.20: seq=1 ttl=63 time=0.500 ms\n" +
			"\n--- 10.244.0.20 ping statistics ---\n2 packets transmitted, 2 packets received, 0% packet loss\nround-trip min/avg/max = 0.500/0.500/0.500 ms\n1000000001\n"},
		{script: "ping -q -c1 -W 2 web; echo $?; date +%s", out: "PING web (10.96.0.20): 56 data bytes\n\n--- web ping statistics ---\n1 packets transmitted, 0 packets received, 100% packet loss\n1\n1000000002\n"},
		{script: "ping -c 1 -W 1 10.244.0.21 >/dev/null", code: 1}, // a policy isolates the pod
		{script: "ping -q -w 3 10.244.0.20 | grep transmitted; date +%s", out: "3 packets transmitted, 3 packets received, 0% packet loss\n1000000003\n"},
		{script: "ping -c 1 127.0.0.1 | grep -c ttl=64", out: "1\n"},
		{script: "ping -c 1 nosuch", err: "ping: bad address 'nosuch'\n", code: 1},
		{script: "ping6 -c 1 web", err: "ping6: bad address 'web'\n", code: 1},
		{script: "ping -c x web", err: "ping: invalid number 'x'\n", code: 1},
		{script: "ping", err: "ping: bad arguments: one host is needed\n", code: 1},
		{script: "timeout 5 ping 10.244.0.20 > /tmp/x; echo $?; wc -l < /tmp/x", out: "124\n6\n"},
	} {
		out, errOut, code := runOnNetwork(t, false, c.script)
		if out != c.out || errOut != c.err || code != c.code {
			t.Errorf("%s:\ngot  %q %q %d\nwant %q %q %d", c.script, out, errOut, code, c.out, c.err, c.code)
		}
	}
}

func TestLookups(t *testing.T) {
	const header = "\n; <<>> DiG 9.18.49 <<>> web.default.svc.cluster.local\n;; global options: +cmd\n;; Got answer:\n;; ->>HEADER<<- opcode: QUERY, status: NOERROR, id: "
	for _, c := range []struct {
		script   string
		out, err string
		code     int
	}{
		{script: "dig +short web.default.svc.cluster.local", out: "10.96.0.20\n"},
		{script: "dig +short web; echo $?", out: "0\n"},
		{script: "dig +search +short web A", out: "10.96.0.20\n"},
		{script: "dig +notcp +noall +answer +search web A", out: "web.default.svc.cluster.local. 30 IN\tA\t10.96.0.20\n"},
		{script: "dig +noall +question web; dig +noall +question deb.debian.svc", out: ";web.\t\t\t\tIN\tA\n;deb.debian.svc.\t\t\tIN\tA\n"},
		{script: "dig +short -x 10.96.0.20 @10.96.0.10", out: "web.default.svc.cluster.local.\n"},
		{script: "dig nosuch.default.svc.cluster.local | grep -o 'status: [A-Z]*'", out: "status: NXDOMAIN\n"},
		{script: "dig web.default.svc.cluster.local | sed 's/id: .*/id: /;8,$d' | head -n 5", out: header + "\n"},
		{script: "dig web.default.svc.cluster.local | tail -n 8 | sed 's/rcvd: .*//'", out: ";; ANSWER SECTION:\nweb.default.svc.cluster.local. 30 IN\tA\t10.96.0.20\n\n;; Query time: 0 msec\n;; SERVER: 10.96.0.10#53(10.96.0.10) (UDP)\n;; WHEN: Sun Sep 09 01:46:40 UTC 2001\n;; MSG SIZE  \n\n"},
		{script: "dig +short +time=1 +tries=2 web @10.244.0.21; echo $?; date +%s", out: ";; communications error to 10.244.0.21#53: timed out\n;; communications error to 10.244.0.21#53: timed out\n;; no servers could be reached\n9\n1000000002\n"},
		{script: "dig +time=1 web @10.9.9.9; echo $?; date +%s", out: strings.Repeat(";; communications error to 10.9.9.9#53: timed out\n", 3) + "\n; <<>> DiG 9.18.49 <<>> +time=1 web @10.9.9.9\n; (1 server found)\n;; global options: +cmd\n;; no servers could be reached\n9\n1000000003\n"},
		{script: "dig +short web @10.96.0.20; echo $?; date +%s", out: strings.Repeat(";; communications error to 10.96.0.20#53: timed out\n", 3) + ";; no servers could be reached\n9\n1000000015\n"}, // the Service has no such port
		{script: "dig +short web @127.0.0.1; echo $?; date +%s", out: strings.Repeat(";; communications error to 127.0.0.1#53: connection refused\n", 3) + ";; no servers could be reached\n9\n1000000000\n"},
		{script: "dig +short web @10.244.0.99; echo $?; date +%s", out: strings.Repeat(";; communications error to 10.244.0.99#53: host unreachable\n", 3) + ";; no servers could be reached\n9\n1000000009\n"},
		{script: "dig +short +time=1 web @10.244.0.20; echo $?; date +%s", out: strings.Repeat(";; communications error to 10.244.0.20#53: connection refused\n", 3) + ";; no servers could be reached\n9\n1000000000\n"},
		{script: "dig +short web @2001:db8::1; echo $?", out: strings.Repeat(";; UDP setup with 2001:db8::1#53(2001:db8::1) for web failed: network unreachable.\n;; no servers could be reached\n", 3) + "9\n"},
		{script: "dig +short web @nosuch", err: "dig: couldn't get address for 'nosuch': not found\n", code: 1},
		{script: "echo 10.96.0.10 ns >>/etc/hosts; dig +short +search web @ns", out: "10.96.0.20\n"},
		{script: "dig nosuch.default.svc.cluster.local @8.8.8.8 | grep -o 'status: [A-Z]*'", out: "status: NXDOMAIN\n"}, // that server is assumed to answer
		{script: "host web nosuch", err: "host: couldn't get address for 'nosuch': not found\n", code: 1},
		{script: "host web 10.9.9.9; echo $?; date +%s", out: strings.Repeat(";; communications error to 10.9.9.9#53: timed out\n", 2) + ";; no servers could be reached\n1\n1000000010\n"},
		{script: "nslookup web nosuch", err: "nslookup: bad address 'nosuch'\n", code: 1},
		{script: "nslookup web 10.9.9.9; echo $?; date +%s", out: ";; connection timed out; no servers could be reached\n\n1\n1000000005\n"},
		{script: "nslookup web 127.0.0.1", out: ";; connection timed out; no servers could be reached\n\n", err: "nslookup: write to '127.0.0.1': Connection refused\n", code: 1},
		{script: "nslookup web 2001:db8::1", err: "nslookup: can't connect to remote host (2001:db8::1): Network is unreachable\n", code: 1},
		{script: "dig +what web", err: "Invalid option: +what\n", code: 1},
		{script: "host web", out: "web.default.svc.cluster.local has address 10.96.0.20\n"},
		{script: "host -t SRV web", out: "web.default.svc.cluster.local has SRV record 0 100 80 web.default.svc.cluster.local.\n"},
		{script: "host 10.96.0.20", out: "20.0.96.10.in-addr.arpa domain name pointer web.default.svc.cluster.local.\n"},
		{script: "host nosuch", out: "Host nosuch not found: 3(NXDOMAIN)\n", code: 1},
		{script: "host web 10.96.0.10 | head -n 3", out: "Using domain server:\nName: 10.96.0.10\nAddress: 10.96.0.10#53\n"},
		{script: "host -W 1 web 10.244.0.21", out: ";; communications error to 10.244.0.21#53: timed out\n;; communications error to 10.244.0.21#53: timed out\n;; no servers could be reached\n", code: 1},
		{script: "host example.com | grep -q address && echo assumed", out: "assumed\n"},
	} {
		out, errOut, code := runOnNetwork(t, true, c.script)
		if out != c.out || errOut != c.err || code != c.code {
			t.Errorf("%s:\ngot  %q %q %d\nwant %q %q %d", c.script, out, errOut, code, c.out, c.err, c.code)
		}
	}
}

// An option that no implementation of a program has is an error; one that another implementation has is assumed to do what it should.
func TestMisspeltOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		script, out, err string
		code             int
	}{
		{script: "wget --foo web", err: "wget: unrecognized option: foo\n", code: 1},
		{script: "wget -% web", err: "wget: unrecognized option: %\n", code: 1},
		{script: "nc -Q web 80", err: "nc: unrecognized option: Q\n", code: 1},
		{script: "nc --foo web 80", err: "nc: unrecognized option: foo\n", code: 1},
		{script: "wget --mirror web && wget --no-check web && nc --ssl web 80 && echo assumed", out: "assumed\n"},
		{script: "wget -nv -O- web", out: "GET /\n"},
		{script: "wget -T x web", err: "wget: invalid number 'x'\n", code: 1},
		{script: "nc -w x web 80", err: "nc: invalid number 'x'\n", code: 1},
	} {
		out, errOut, code := runOnNetwork(t, true, c.script)
		if out != c.out || errOut != c.err || code != c.code {
			t.Errorf("%s:\ngot  %q %q %d\nwant %q %q %d", c.script, out, errOut, code, c.out, c.err, c.code)
		}
	}
}

// A policy that denies the way to a name server is met by each one, also outside of the cluster.
func TestDeniedNameServers(t *testing.T) {
	t.Parallel()
	n := newFakeNetwork()
	deny := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "deny-out"}}
	deny.Spec.PodSelector.MatchLabels = map[string]string{"app": "c"}
	deny.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}
	n.cluster.Policies.Set(deny)
	for _, server := range []string{"10.96.0.10", "8.8.8.8"} {
		want := strings.Repeat(";; communications error to "+server+"#53: timed out\n", 3) + ";; no servers could be reached\n"
		if out, errOut, code := runOn(t, n, true, "dig +short web @"+server); out != want || errOut != "" || code != 9 {
			t.Errorf("%s: %q %q %d", server, out, errOut, code)
		}
	}
}
