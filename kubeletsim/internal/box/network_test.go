package box

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/network/faults"
	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/kubeletsim/internal/memfs"
	"minikcm.dev/minikcm/kubeletsim/internal/shell"
)

// fakeNetwork is a cluster with the Services web, whose pod answers, and shut, whose pod a policy isolates.
type fakeNetwork struct {
	cluster *reach.Cluster
	faults  faults.Set
	// socket listens at port 80 of its pods, in place of servers; nil: they serve HTTP.
	socket *Socket
	// certificate and certErr are what its servers present.
	certificate *tls.Certificate
	certErr     error
}

func newFakeNetwork() *fakeNetwork {
	c := reach.New()
	c.DNS = netip.MustParseAddr("10.96.0.10")
	c.Policies.SetNamespace("default", nil)
	c.SetPod(fakePod("c", "10.244.0.9"))
	c.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n0"}, Spec: corev1.NodeSpec{PodCIDR: "10.244.0.0/24"}})
	for i, name := range []string{"web", "shut", "empty"} {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		s.Spec.ClusterIP = fmt.Sprintf("10.96.0.%d", 20+i)
		s.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		c.Services.SetService(s)
		if name == "empty" {
			continue
		}
		address := fmt.Sprintf("10.244.0.%d", 20+i)
		c.SetPod(fakePod(name, address))
		c.Services.SetSlice(&discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
			AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: ptr.To(""), Port: ptr.To[int32](80)}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}}},
		})
	}
	deny := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "deny"}}
	deny.Spec.PodSelector.MatchLabels = map[string]string{"app": "shut"}
	c.Policies.Set(deny)
	return &fakeNetwork{cluster: c}
}

func fakePod(name, address string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": name}}}
	pod.Spec.NodeName, pod.Status.PodIP = "n0", address
	return pod
}

func (n *fakeNetwork) source() policy.Peer { return policy.Peer{Pod: n.cluster.Pod("default", "c")} }

func (n *fakeNetwork) Decide(_ context.Context, q *reach.Query) (*reach.Path, error) {
	q.From, q.Listens, q.Faults = n.source(), n.listens, &n.faults
	return n.cluster.Decide(q), nil
}

func (n *fakeNetwork) listens(pod *corev1.Pod, port int32, _ corev1.Protocol) *reach.Listener {
	switch {
	case pod.Name == "c", port != 80, n.socket != nil && !n.socket.Listens():
		return nil
	case n.socket != nil:
		return &reach.Listener{Container: "c", Speaks: "bytes"}
	}
	return &reach.Listener{Container: "c"}
}

func (n *fakeNetwork) Names(_ context.Context, c *dns.Config, random uint64, ask func(*dns.Zone)) (*reach.Served, error) {
	served := n.cluster.Server(&reach.Query{From: n.source(), Resolver: c, Random: random, Listens: n.listens, Faults: &n.faults})
	if served.Outcome == reach.Connected {
		ask(served.Zone)
	}
	return served, nil
}

func (n *fakeNetwork) Certificate(context.Context, *reach.Path, string) (*tls.Certificate, error) {
	return n.certificate, n.certErr
}

func (n *fakeNetwork) Listen(port int32, _ corev1.Protocol, _ bool) (*Socket, error) {
	if n.socket != nil && n.socket.Listens() || port != 80 {
		return nil, syscall.EADDRINUSE
	}
	n.socket = &Socket{}
	return n.socket, nil
}

func (n *fakeNetwork) Exchange(ctx context.Context, _ *reach.Path, peer netip.AddrPort, data []byte) ([]byte, error) {
	if n.socket != nil {
		answer, err := n.socket.Converse(ctx, peer, data)
		if err != nil {
			return nil, err
		}
		defer answer.Close()
		return io.ReadAll(answer)
	}
	return data, nil
}

func (n *fakeNetwork) Socket(*reach.Path) *Socket { return n.socket }

// Programs listen, and answer with their input or with what another program writes.
func TestListeningPrograms(t *testing.T) {
	const get = "printf 'GET %s HTTP/1.0\\r\\n\\r\\n' "
	for _, c := range []struct{ server, client, out, served string }{
		{server: "echo hi | nc -l -p 80", client: "echo from client | nc web 80; nc -z web 80 || echo closed", out: "hi\nclosed\n", served: "from client\n"},
		{server: "nc -lk -p 80 -e tr a-z A-Z", client: "echo one | nc web 80; echo two | nc web 80", out: "ONE\nTWO\n"},
		{server: "nc -ll -p 80 -e cat", client: get + "/ | nc web 80", out: "GET / HTTP/1.0\r\n\r\n"},
		{server: "i=0; while true; do echo $i | nc -l 80; i=$((i+1)); done", client: "nc web 80 </dev/null; nc web 80 </dev/null", out: "0\n1\n"},
		{server: "nc -l -p 80 -e sh -c 'while read -r a; do echo got $a; done'", client: "(echo a; sleep 2; echo b) | nc web 80 | while read -r l; do echo $l $(($(date +%s) - 1000000001)); done", out: "got a 0\ngot b 2\n"},
		{server: "(sleep 3; echo hi; sleep 2; echo more) | nc -l -p 80 | while read -r l; do echo $l $(($(date +%s) - 1000000001)); done", client: "(echo a; sleep 4; echo b) | nc web 80", out: "hi\nmore\n", served: "a 0\nb 4\n"},
		{server: "nc -lk -p 80 -e sh -c 'read -r a; sleep $a; echo $a'", client: "(echo 5 | nc web 80) & (echo 2 | nc web 80); wait; date +%s", out: "2\n5\n1000000006\n"},
		{server: "sleep 99 | nc -l -p 80", client: "echo x | nc -w 2 web 80; echo $? $(date +%s)", out: "0 1000000005\n", served: "x\n"},
		{server: "nc -l -p 80; echo over", client: "nc web 80 -e echo from the client; sleep 1", served: "from the client\nover\n"},
		{server: "sleep 1 | nc -l -p 80 -w 3; echo $?", client: "sleep 99 | nc web 80 & sleep 9; kill $!", served: "0\n"},
		{server: "nc -l -p 80 -e yes", client: "nc web 80 </dev/null | head -2; date +%s", out: "y\ny\n1000000001\n"},
		{server: "mkdir /www; echo page >/www/index.html; httpd -f -p 80 -h /www", client: get + "/ | nc web 80 | grep -iv '^date\\|^last\\|^etag'", out: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-type: text/html\r\nAccept-Ranges: bytes\r\nContent-Length: 5\r\n\r\npage\n"},
		{server: "cd /tmp; printf 0123456789 >f.txt; httpd -f", client: "for r in 2-4 8-20 -3; do printf 'GET /f.txt HTTP/1.0\r\nRange: bytes=%s\r\n\r\n' $r | nc web 80 | grep -i 'http/\\|range:\\|type\\|^[0-9]'; echo; done", out: "HTTP/1.1 206 Partial Content\r\nContent-type: text/html\r\nContent-Range: bytes 2-4/10\r\n234\n\nHTTP/1.1 206 Partial Content\r\nContent-type: text/html\r\nContent-Range: bytes 8-9/10\r\n89\n\nHTTP/1.1 200 OK\r\nContent-type: text/plain\r\n0123456789\n\n"},
		{server: "mkdir -p /www/d; httpd -p 80 -h /www; sleep 60", client: "for u in /d /d/ /none; do " + get + "$u | nc web 80 | grep -i 'http/\\|location'; done", out: "HTTP/1.1 302 Found\r\nLocation: /d/\r\nHTTP/1.1 404 Not Found\r\nHTTP/1.1 404 Not Found\r\n"},
	} {
		ledger := clock.NewLedger()
		virtual := clock.NewVirtual(time.Unix(1e9, 0), ledger)
		n := newFakeNetwork()
		server := machineOn(t, n, false, virtual, ledger)
		server.Main = &Main{Work: inflight.Begin(ledger, inflight.Action)}
		ctx, cancel := context.WithCancel(t.Context())
		var served strings.Builder
		var serving sync.WaitGroup
		serving.Go(func() {
			_, _ = server.Run(ctx, []string{"sh", "-c", c.server}, Streams{Out: &served}) // until cancel
		})
		client := machineOn(t, n, false, virtual, ledger)
		out, errOut, _ := runToEnd(t, client, virtual, ledger, "sleep 1; "+c.client)
		cancel()
		serving.Wait()
		virtual.Close()
		if out != c.out || errOut != "" && !strings.Contains(c.client, "-z") || served.String() != c.served {
			t.Errorf("%s, %s:\ngot  %q %q, served %q\nwant %q, served %q", c.server, c.client, out, errOut, &served, c.out, c.served)
		}
	}
	for _, c := range []struct{ script, err string }{
		{"nc -w 1 -l -p 80", "nc: timed out\n"},
		{"nc -l -p 81", "nc: bind: Address already in use\n"},
		{"nc -l x", "nc: bad port 'x'\n"},
		{"httpd -f -h /none", "httpd: can't change directory to '/none': No such file or directory\n"},
	} {
		if out, errOut, code := runOnNetwork(t, false, c.script); out != "" || errOut != c.err || code != 1 {
			t.Errorf("%s: %q %q %d, want %q", c.script, out, errOut, code, c.err)
		}
	}
}

// A shell reads from programs that listen. It lets other scripts compute while it waits, and its end ends the wait.
func TestConnectionsOfBashToPrograms(t *testing.T) {
	const open = "exec 3<>/dev/tcp/web/80; "
	processors := runtime.GOMAXPROCS(2)
	share := shell.NewShare() // one script at a time
	runtime.GOMAXPROCS(processors)
	for _, c := range []struct{ server, client, out, served string }{
		{server: "while true; do echo hello | nc -l -p 80; done", client: "curl -sS telnet://web:80 </dev/null", out: "hello\n"},
		{server: "nc -lk -p 80 -e cat", client: open + "echo yo >&3; head -1 <&3", out: "yo\n"},
		{server: "nc -lk -p 80 -e cat", client: open + "timeout 3 head -1 <&3 || echo $?", out: "124\n"},
		{server: "nc -lk -p 80 -e sh -c 'sleep 5; cat'", client: "echo a | nc web 80", out: "a\n"},
		{server: "echo hello | nc -l -p 80", client: open + "echo yo >&3; read -r line <&3; echo $line", out: "hello\n", served: "yo\n"},
		{server: "nc -lk -p 80 -e sh -c 'sleep 5; head -1'", client: open + "echo yo >&3; cat <&3 & cat <&3; wait", out: "yo\n"},
		{server: "nc -lk -p 80 -e sh -c 'sleep 5; head -1'", client: "for i in a b; do (" + open + "echo yo >&3; cat <&3) & done; wait", out: "yo\nyo\n"},
		{server: "sleep 1 | nc -l -p 80", client: open + "echo yo >&3; cat <&3; echo over", out: "over\n", served: "yo\n"},
		{server: "sleep 60 | nc -l -p 80", client: open + "echo yo >&3; timeout 2 cat <&3 || echo $?; cat <&3; echo on", out: "124\non\n", served: "yo\n"},
		{server: "while true; do sleep 1; done", client: "nc -lk -p 80 -e sh -c 'read -r x; echo OWN' & until [ \"$a\" = OWN ]; do sleep 1; " + open + "echo own >&3; read -r a <&3; done; echo $a; kill %1", out: "OWN\n"},
	} {
		ledger := clock.NewLedger()
		virtual := clock.NewVirtual(time.Unix(1e9, 0), ledger)
		n := newFakeNetwork()
		server, client := machineOn(t, n, false, virtual, ledger), machineOn(t, n, true, virtual, ledger)
		server.Main = &Main{Work: inflight.Begin(ledger, inflight.Action)}
		server.Share, client.Share = share, share
		ctx, cancel := context.WithCancel(t.Context())
		var served strings.Builder
		var serving sync.WaitGroup
		serving.Go(func() {
			_, _ = server.Run(ctx, []string{"sh", "-c", c.server}, Streams{Out: &served}) // until cancel
		})
		out, errOut, _ := runToEnd(t, client, virtual, ledger, "sleep 1; "+c.client)
		cancel()
		serving.Wait()
		virtual.Close()
		if out != c.out || errOut != "" || served.String() != c.served {
			t.Errorf("%s, %s:\ngot  %q %q, served %q\nwant %q, served %q", c.server, c.client, out, errOut, &served, c.out, c.served)
		}
	}
}

func (*fakeNetwork) Serve(_ *reach.Path, w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/busy" { // it computes until the client is gone
		<-r.Context().Done()
		return
	}
	if r.URL.Path == "/404" {
		http.Error(w, "nope", http.StatusNotFound)
		return
	}
	if status, err := strconv.Atoi(strings.Trim(r.URL.Path, "/")); err == nil {
		w.Header().Set("Location", r.URL.Query().Get("to"))
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	if strings.HasPrefix(r.URL.Path, "/echo") {
		request, _ := httputil.DumpRequest(r, true)
		_, _ = w.Write(request)
		return
	}
	if r.Method != http.MethodHead {
		_, _ = fmt.Fprintf(w, "%s %s\n", r.Method, r.URL.RequestURI())
	}
}

// BusyBox 1.35 and curl 7.88 print the outputs, except for the protocol that is disabled, whose words are newer, and exit with the codes.
func TestRedirects(t *testing.T) {
	for _, c := range []struct {
		script, out, err string
		code             int
	}{
		{script: "wget -qO- 'web/302?to=/a'", out: "GET /a\n"},
		{script: "wget -qO- --post-data x=1 'web/308?to=/a'", out: "POST /a\n"},
		{script: "wget -O- 'web/302?to=/302?to=http://web/b' 2>&1 | head -1", out: "Connecting to web (10.96.0.20:80)\n"},
		{script: "wget -qO- 'web/302?to=http://nosuch/'", err: "wget: bad address 'nosuch'\n", code: 1},
		{script: "wget -qO- 'web/302?to=telnet://x'", err: "wget: not an http or ftp url: telnet://x\n", code: 1},
		{script: "wget -qO- 'web/302?to='"},
		{script: "wget -qO- 'web/304?to=/a'", err: "wget: server returned error: HTTP/1.1 304 Not Modified\n", code: 1},
		{script: "cd /tmp; wget -q 'web/302?to=/a'; cat 302", out: "GET /a\n"},
		{script: "curl -s 'web/302?to=/a' -w '%{http_code} %{redirect_url} %{num_redirects}'", out: "302 http://web/a 0"},
		{script: "curl -sS -G -d 'c=d e' web/q", err: "curl: (3) URL rejected: Malformed input to a URL function\n", code: 3},
		{script: "curl -si web/204 | tr -d '\\r'; wget -qO- web/304", out: "HTTP/1.1 204 No Content\nLocation: \n\n", err: "wget: server returned error: HTTP/1.1 304 Not Modified\n", code: 1},
		{script: "curl -s -o /dev/null -G -d a=b -w '%{url_effective}' web/q", out: "http://web/q?a=b"},
		{script: "curl -sv -o /dev/null -u a:b -H 'X: 1' -b c=d web 2>&1 | grep '^>'", out: "> GET / HTTP/1.1\n> Host: web\n> Authorization: Basic YTpi\n> User-Agent: curl/8.14.1\n> Accept: */*\n> Cookie: c=d\n> X: 1\n> \n"},
		{script: "curl -sL 'web/302?to=/a' -w '%{http_code} %{url_effective} %{num_redirects}'", out: "GET /a\n200 http://web/a 1"},
		{script: "curl -sL -d x=1 'web/302?to=/a'; curl -sL -d x=1 'web/307?to=/a'; curl -sL -X PUT -d x=1 'web/301?to=/a'; curl -sL -d x=1 'web/303?to=/a'", out: "GET /a\nPOST /a\nPUT /a\nGET /a\n"},
		{script: "curl -sSL --max-redirs 0 'web/302?to=/a'", err: "curl: (47) Maximum (0) redirects followed\n", code: 47},
		{script: "curl -sSL 'web/302?to=telnet://x'", err: "curl: (1) Protocol \"telnet\" disabled in redirect\n", code: 1},
		{script: "curl -sSL 'web/302?to=foo://x'", err: "curl: (1) The redirect target URL could not be parsed: Unsupported URL scheme\n", code: 1},
		{script: "curl -sLi 'web/302?to=/a' | grep -c HTTP", out: "2\n"},
	} {
		out, errOut, code := runOnNetwork(t, true, c.script)
		if out != c.out || errOut != c.err || code != c.code {
			t.Errorf("%s: %q, %q, %d", c.script, out, errOut, code)
		}
	}
}

// BusyBox 1.35 prints the outputs of wget, and exits with its codes, but for the times. The outputs of nc -z,
// nslookup and curl follow their sources and documentation; they were not compared.
func TestNetworkPrograms(t *testing.T) {
	const meter = " 100% |********************************|"
	for _, c := range []struct {
		script   string
		out, err string
		code     int
	}{
		{script: "wget -qO- web", out: "GET /\n"},
		{script: "wget -O- http://web/a?b=1", out: "GET /a?b=1\n", err: "Connecting to web (10.96.0.20:80)\nwriting to stdout\n-                   " + meter + "    11  0:00:00 ETA\nwritten to stdout\n"},
		{script: "cd /tmp; wget web:80/; cat index.html; wget web", out: "GET /\n", code: 1, err: "Connecting to web:80 (10.96.0.20:80)\nsaving to 'index.html'\nindex.html          " + meter + "     6  0:00:00 ETA\n'index.html' saved\n" +
			"Connecting to web (10.96.0.20:80)\nwget: can't open 'index.html': File exists\n"},
		{script: "wget -q -O /tmp/x web/404", err: "wget: server returned error: HTTP/1.1 404 Not Found\n", code: 1},
		{script: "wget -q --spider web", out: ""},
		{script: "wget -qO- --post-data a=b web/p", out: "POST /p\n"},
		{script: "wget -qO- nosuch", err: "wget: bad address 'nosuch'\n", code: 1},
		{script: "wget -O- empty", err: "Connecting to empty (10.96.0.22:80)\nwget: can't connect to remote host (10.96.0.22): Connection refused\n", code: 1},
		{script: "wget -q -T 3 -O- shut", err: "wget: download timed out\n", code: 1},
		{script: "wget -qO- shut", err: "wget: can't connect to remote host (10.96.0.21): Connection timed out\n", code: 1},
		{script: "wget -qO- 203.0.113.1", err: "wget: can't connect to remote host (203.0.113.1): Network is unreachable\n", code: 1},
		{script: "nc -z web 80; echo $?; nc -z web 81 -w 1; echo $?; nc -vz empty 80", out: "0\n1\n", err: "nc: empty (10.96.0.22:80): Connection refused\n", code: 1},
		{script: "nc -zv web 80", err: "web (10.96.0.20:80) open\n"},
		{script: "nc -zvt -w 2 web 80", err: "web (10.96.0.20:80) open\n"},
		{script: `printf 'GET /x HTTP/1.0\r\n\r\n' | nc web 80`, out: "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nContent-Type: text/plain\r\n\r\nGET /x\n"},
		{script: "nc --sctp -vz 10.244.0.20 80", err: "10.244.0.20 (10.244.0.20:80) open\n"},
		{script: "at=$(date +%s); echo x | nc -w 5 -W 1 -u shut 53; echo $? $(($(date +%s) - at))", out: "0 5\n"},
		{script: "nc nosuch 80", err: "nc: bad address 'nosuch'\n", code: 1},
		{script: "nslookup web", out: "Server:\t\t10.96.0.10\nAddress:\t10.96.0.10:53\n\nName:\tweb.default.svc.cluster.local\nAddress: 10.96.0.20\n\n"},
		{script: "nslookup nosuch", out: "Server:\t\t10.96.0.10\nAddress:\t10.96.0.10:53\n\n** server can't find nosuch: NXDOMAIN\n\n", code: 1},
		{script: "nslookup 10.96.0.20 | tail -n 2", out: "20.0.96.10.in-addr.arpa\tname = web.default.svc.cluster.local\n\n"},
		{script: "nc -zv -w 1 10.96.0.10 53; nc -zv -u 10.96.0.10 53; nc -z -w 1 10.96.0.10 80", err: "10.96.0.10 (10.96.0.10:53) open\n10.96.0.10 (10.96.0.10:53) open\n", code: 1},
		{script: "getent hosts web; getent hosts nosuch", out: "10.96.0.20      web.default.svc.cluster.local\n", code: 2},
		{script: "echo 10.96.0.20 other > /etc/hosts; wget -qO- other", out: "GET /\n"},
	} {
		out, errOut, code := runOnNetwork(t, false, c.script)
		if out != c.out || errOut != c.err || code != c.code {
			t.Errorf("%s:\ngot  %q %q %d\nwant %q %q %d", c.script, out, errOut, code, c.out, c.err, c.code)
		}
	}
}

func TestCurl(t *testing.T) {
	for _, c := range []struct {
		script   string
		out, err string
		code     int
	}{
		{script: "curl web", out: "GET /\n"},
		{script: "curl -s http://web:80/a", out: "GET /a\n"},
		{script: "curl -s -g --interface 10.0.0.1 web", out: "GET /\n"},
		{script: "curl -q -s web; curl --disable -g web", out: "GET /\nGET /\n"},
		{script: "curl -v telnet://web:80", err: "*   Trying 10.96.0.20:80...\n* Connected to web (10.96.0.20) port 80\n"},
		{script: "curl -s telnet://empty:80", code: 7},
		{script: "curl -m 2 telnet://shut:80", err: "curl: (28) Connection timed out after 2000 milliseconds\n", code: 28},
		{script: "curl -si web", out: "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nContent-Type: text/plain\r\n\r\nGET /\n"},
		{script: "curl -s -o /dev/null -w '%{http_code} %{remote_ip}:%{remote_port}\\n' web", out: "200 10.96.0.20:80\n"},
		{script: "curl -s --output /tmp/x web && cat /tmp/x", out: "GET /\n"},
		{script: "curl -s -d a=b -H 'X: y' web/p", out: "POST /p\n"},
		{script: "curl -s -X DELETE web/p", out: "DELETE /p\n"},
		{script: "wget -qO- http://web/?x=1; curl -sS web/a?z=2; curl -sS -H Accept:* http://web/b?c", out: "GET /?x=1\nGET /a?z=2\nGET /b?c\n"},
		{script: "curl -s -G -d a=b web/p", out: "GET /p?a=b\n"},
		{script: "curl -sSf web/404", err: "curl: (22) The requested URL returned error: 404\n", code: 22},
		{script: "curl -s web/404", out: "nope\n"},
		{script: "curl -sS nosuch", err: "curl: (6) Could not resolve host: nosuch\n", code: 6},
		{script: "curl -s empty", code: 7},
		{script: "curl -sS empty", err: "curl: (7) Failed to connect to empty port 80 after 0 ms: Could not connect to server\n", code: 7},
		{script: "curl -sS -m 2 shut", err: "curl: (28) Connection timed out after 2000 milliseconds\n", code: 28},
		{script: "curl -sS --connect-timeout 1.5 shut", err: "curl: (28) Connection timed out after 1500 milliseconds\n", code: 28},
		{script: "curl -sS shut", err: "curl: (28) Failed to connect to shut port 80 after 127000 ms: Could not connect to server\n", code: 28},
		{script: "date +%s; curl -s --retry 2 --retry-delay 5 --retry-connrefused empty; date +%s", out: "1000000000\n1000000010\n"},
		{script: "curl -sS ftp://web", err: "curl: (1) Protocol \"ftp\" not supported\n", code: 1},
		{script: "curl", err: "curl: (2) no URL specified\n", code: 2},
		{script: "curl -s https://example.com/x | grep -q ok && echo assumed", out: "assumed\n"},
	} {
		out, errOut, code := runOnNetwork(t, true, c.script)
		if out != c.out || errOut != c.err || code != c.code {
			t.Errorf("%s:\ngot  %q %q %d\nwant %q %q %d", c.script, out, errOut, code, c.out, c.err, c.code)
		}
	}
}

// runOnNetwork runs a script on virtual time, in an image of which everything is known or nothing.
// Paths such as /dev/tcp/HOST/PORT are connections in a shell that may be bash.
func TestConnectionsOfBash(t *testing.T) {
	for _, c := range []struct {
		script   string
		out, err string
		code     int
	}{
		{script: "bash -c '</dev/tcp/web/80' && echo open", out: "open\n"},
		{script: "timeout 2 bash -c '</dev/tcp/web/81' || echo $?", out: "124\n"},
		{script: "bash -c '</dev/tcp/empty/80'", err: "bash: /dev/tcp/empty/80: Connection refused\n", code: 1},
		{script: "bash -c ': >/dev/tcp/nosuch/80'", err: "bash: /dev/tcp/nosuch/80: Name or service not known\n", code: 1},
		{script: "bash -c '</dev/tcp/shut/80'", err: "bash: /dev/tcp/shut/80: Connection timed out\n", code: 1},
		{script: "until (echo > /dev/tcp/web/80) 2>/dev/null; do sleep 1; done; echo up", out: "up\n"},
		{script: "exec 3<>/dev/tcp/web/80; printf 'GET /x HTTP/1.0\\r\\n' >&3; printf '\\r\\n' >&3; cat <&3", out: "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nContent-Type: text/plain\r\n\r\nGET /x\n"},
		{script: "exec 3<>/dev/tcp/web/80; echo ruok >&3; head -n 1 <&3", out: "HTTP/1.1 400 Bad Request\r\n"},
		{script: "echo x >/dev/udp/shut/80 && echo sent", out: "sent\n"},
		{script: "echo x >/dev/udp/nosuch/80", err: "sh: /dev/udp/nosuch/80: Name or service not known\n", code: 1},
		{script: "</dev/tcp/203.0.113.1/80 && echo assumed", out: "assumed\n"},
	} {
		out, errOut, code := runOnNetwork(t, true, c.script)
		if out != c.out || errOut != c.err || code != c.code {
			t.Errorf("%s:\ngot  %q %q %d\nwant %q %q %d", c.script, out, errOut, code, c.out, c.err, c.code)
		}
	}
}

func runOnNetwork(t *testing.T, unknown bool, script string) (out, errOut string, code int) {
	t.Helper()
	return runOn(t, newFakeNetwork(), unknown, script)
}

// runDisturbed is runOnNetwork for a network with a fault.
func runDisturbed(t *testing.T, rule *faults.Rule, script string) (out, errOut string, code int) {
	t.Helper()
	n := newFakeNetwork()
	n.faults.Add(rule)
	return runOn(t, n, true, script)
}

func runOn(t *testing.T, n *fakeNetwork, unknown bool, script string) (out, errOut string, code int) {
	t.Helper()
	ledger := clock.NewLedger()
	virtual := clock.NewVirtual(time.Unix(1e9, 0), ledger)
	defer virtual.Close()
	return runToEnd(t, machineOn(t, n, unknown, virtual, ledger), virtual, ledger, script)
}

// machineOn returns a machine with a network.
func machineOn(t *testing.T, n *fakeNetwork, unknown bool, virtual *clock.Virtual, ledger *clock.Ledger) *Machine {
	t.Helper()
	m := newMachine(virtual, ledger)
	if unknown {
		m.Unknown, m.Files = true, memfs.NewView(NewImage(memfs.NewSpace(virtual.Now, 0), false))
	}
	m.Network = n
	for name, text := range map[string]string{"/etc/resolv.conf": "search default.svc.cluster.local svc.cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n", "/etc/hosts": "127.0.0.1\tlocalhost\n"} {
		f, err := m.Files.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// runToEnd runs a script as a container's process, to its end.
func runToEnd(t *testing.T, m *Machine, virtual *clock.Virtual, ledger *clock.Ledger, script string) (out, errOut string, code int) {
	t.Helper()
	done, ended := make(chan struct{}), make(chan struct{}) // the ledger counts the command until it has ended
	m.Main = &Main{Work: inflight.Begin(ledger, inflight.Action), Ended: func(int, error) { close(ended) }}
	go func() {
		defer close(done)
		out, errOut, code = run(t, m, "", "sh", "-c", script)
	}()
	if err := virtual.Wait(t.Context(), ended); err != nil {
		t.Error(script, err)
	}
	<-done
	return out, errOut, code
}

// The end of a shell that waits for a program's answer lets others compute.
func TestEndOfConnectionOfBash(t *testing.T) {
	n := newFakeNetwork()
	n.socket = &Socket{} // it never accepts
	virtual := clock.NewVirtual(time.Unix(1e9, 0), clock.NewLedger())
	defer virtual.Close()
	m := machineOn(t, n, true, virtual, nil)
	m.Clock = clock.Real()
	for range 8 { // more than may compute at a time
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		code, err := m.Run(ctx, []string{"bash", "-c", "exec 3<>/dev/tcp/web/80; echo yo >&3; cat <&3"}, Streams{})
		cancel()
		if code != exitKilled || err == nil {
			t.Errorf("it ended with %d, %v", code, err)
		}
	}
	if out, _, _ := run(t, m, "", "echo", "on"); out != "on\n" {
		t.Errorf("%q", out)
	}
}

// A client's time-out ends a server that computes, which lets no time of the cluster pass.
func TestTimeoutOfBusyServer(t *testing.T) {
	ledger := clock.NewLedger()
	virtual := clock.NewVirtual(time.Unix(1e9, 0), ledger)
	defer virtual.Close()
	m := machineOn(t, newFakeNetwork(), true, virtual, ledger)
	m.Clock, m.Ledger = clock.Real(), nil
	out, errOut, code := run(t, m, "", "curl", "-sS", "-m", "0.2", "web/busy")
	if want := "curl: (28) Operation timed out after 200 milliseconds with 0 bytes received\n"; out != "" || errOut != want || code != 28 {
		t.Errorf("%q %q %d, want %q", out, errOut, code, want)
	}
}
