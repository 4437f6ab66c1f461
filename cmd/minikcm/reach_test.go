package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const reachObjects = `
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {namespace: shop, name: client, labels: {app: client}}
  spec: {nodeName: n0, containers: [{name: c, image: busybox, command: [sleep, 1d]}]}
  status: {phase: Running, podIP: 10.244.0.4, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: c, state: {running: {}}}]}
- apiVersion: v1
  kind: Pod
  metadata:
    {namespace: shop, name: db-5c9-x, labels: {app: db, pod-template-hash: 5c9}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: db-5c9, uid: u, controller: true}]}
  spec: {nodeName: n1, containers: [{name: pg, image: postgres, ports: [{name: sql, containerPort: 5432}]}]}
  status: {phase: Running, podIP: 10.244.1.4, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: pg, state: {running: {}}}]}
- apiVersion: v1
  kind: Service
  metadata: {namespace: shop, name: db}
  spec: {clusterIP: 10.96.0.20, selector: {app: db}, ports: [{port: 5432, targetPort: sql}]}
- apiVersion: networking.k8s.io/v1
  kind: NetworkPolicy
  metadata: {namespace: shop, name: db}
  spec: {podSelector: {matchLabels: {app: db}}, ingress: [{from: [{podSelector: {matchLabels: {app: web}}}]}]}
`

// reachImages are pods of an image of the catalog and of one with a profile.
const reachImages = `
- apiVersion: v1
  kind: Pod
  metadata: {namespace: shop, name: page}
  spec: {nodeName: n1, containers: [{name: c, image: nginx}]}
  status: {phase: Running, podIP: 10.244.1.5, containerStatuses: [{name: c, state: {running: {}}}]}
- apiVersion: v1
  kind: Pod
  metadata: {namespace: shop, name: own}
  spec: {nodeName: n1, containers: [{name: c, image: example.com/own:1}]}
  status: {phase: Running, podIP: 10.244.1.6, containerStatuses: [{name: c, state: {running: {}}}]}
- apiVersion: v1
  kind: ConfigMap
  metadata: {namespace: shop, name: own, labels: {minikcm.dev/image: ""}}
  data: {image: "*/own:*", http: "9000 / 200 ok"}
`

// A question about objects is answered without a cluster.
func TestReachFromObjects(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dump.yaml")
	if err := os.WriteFile(file, []byte(reachObjects), 0o600); err != nil {
		t.Fatal(err)
	}
	allowed := filepath.Join(t.TempDir(), "allowed.yaml")
	if err := os.WriteFile(allowed, []byte(strings.Replace(reachObjects, "app: web", "app: client", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	images := filepath.Join(t.TempDir(), "images.yaml")
	if err := os.WriteFile(images, []byte(reachObjects+reachImages), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, file string
		code       int
		want       string
	}{
		{"client db", file, 1, "no: pod shop/client does not reach db:5432: Connection timed out: NetworkPolicies deny the ingress\n" +
			"  name      db is db.shop.svc.cluster.local, 10.96.0.20\n  service   shop/db, TCP 5432, by its cluster IP 10.96.0.20\n  endpoint  10.244.1.4:5432, pod db-5c9-x\n" +
			"  egress    allowed: no policy selects pod shop/client\n  ingress   not allowed by NetworkPolicy shop/db: ingress[0] does not have the peer in from\n"},
		{"pod/client svc/db", allowed, 0, "yes: pod shop/client reaches service shop/db:5432\n"},
		{"client db -o json", allowed, 0, `"reached": true`},
		{"deploy/db pod/client:80", file, 1, "Connection refused: nothing listens on TCP 80 of pod shop/client"},
		{"client example.com:443", file, 3, "unknown: pod shop/client to example.com:443: example.com is a name outside of the cluster\n"},
		{"client nosuch", file, 1, "Name or service not known"},
		{"nosuch db", file, 2, "pod shop/nosuch not found"},
		{"pvc/x db", file, 2, `"pvc" is none of pod, deploy`},
		{"client db:0", file, 2, `"db:0" does not end with a port from 1 to 65535`},
		{"client pod/db-5c9-x:sql", allowed, 0, "yes: pod shop/client reaches pod shop/db-5c9-x:5432\n"},
		{"client pod/db-5c9-x --port sql", allowed, 0, "yes: pod shop/client reaches pod shop/db-5c9-x:5432\n"},
		{"client deploy/db:pg", allowed, 2, `a port "pg" of pod shop/db-5c9-x not found: it has sql (5432)`},
		{"client svc/db:sql", allowed, 2, `a port "sql" of service shop/db not found: its ports have no names`},
		{"client svc/db --port 0", allowed, 2, `--port: "0" is neither a port from 1 to 65535 nor the name of one`},
		{"outside svc/db", allowed, 1, "no: the outside does not reach service shop/db:5432: Network is unreachable: the Service shop/db has no address outside of the cluster: its type is ClusterIP\n"},
		{"outside deploy/db", allowed, 1, "no: the outside (172.18.0.1) does not reach pod shop/db-5c9-x:5432: Connection timed out: NetworkPolicies deny the ingress\n"},
		{"client outside", allowed, 3, "unknown: pod shop/client to the outside:443: 203.0.113.1:443 is outside of the cluster\n"},
		{"client db --protocol icmp", file, 2, `--protocol: "icmp" is none of the protocols TCP, UDP and SCTP`},
		{"client db -o yaml", file, 2, "--output=yaml: must be json, or omitted"},
		{"client", file, 2, "needs a source and a destination"},
		{"client pod/page:80", images, 0, "listener  container c: the catalog's profile nginx, for the image nginx, describes the port"},
		{"client pod/page:81", images, 1, "Connection refused: nothing listens on TCP 81 of pod shop/page"},
		{"client pod/page:81 --image-catalog none", images, 0, "assumed: the pod declares no ports"},
		{"client pod/own:9000", images, 0, "listener  container c: the profile in ConfigMap shop/own, for the image example.com/own:1, has answers for the port"},
		{"client pod/own:9001", images, 1, "Connection refused: nothing listens on TCP 9001 of pod shop/own"},
		{"client pod/page:80 --image-catalog nowhere.yaml", images, 2, "nowhere.yaml"},
		{"--matrix", allowed, 0, "3             outside     denied  -\n\nA row is a source; the columns are the destinations, with the numbers of the rows. A cell has the ports that are reached.\ndenied: NetworkPolicies deny the ports that the destination declares\n-: nothing listens there, or nothing arrives for another reason\n"},
		{"--matrix", file, 0, "#  NAMESPACE  FROM        1       2  3\n1  shop       deploy/db   5432    -  443\n2  shop       pod/client  denied  -  443\n3             outside     denied  -\n"},
		{"--matrix=namespace --port 5432", allowed, 0, "#  NAMESPACE  FROM     1       2\n1  shop       *        2/4     yes\n2             outside  denied\n"},
		{"--matrix --port sql", file, 0, "#  NAMESPACE  FROM        1       2  3\n1  shop       deploy/db   5432    -\n2  shop       pod/client  denied  -\n"},
		{"--matrix --port pg", file, 2, `a port "pg" of the workloads not found: it has sql (5432)`},
		{"--matrix -o json", file, 0, `"policies": [`},
		{"--matrix -o html", file, 0, `<td class="none" title="5432: NetworkPolicies deny the ingress (shop/db: ingress[0] does not have the peer in from)">denied</td>`},
		{"--matrix -n nowhere", file, 2, "a pod with an address in namespace nowhere not found"},
		{"--matrix=zone", file, 2, `--matrix: "zone" is neither workload nor namespace`},
		{"--matrix client", file, 2, `--matrix asks about all workloads, but got "client"`},
		{"--matrix -o yaml", file, 2, "--output=yaml: must be json or html, or omitted"},
	} {
		args := append([]string{"reach", "-n", "shop", "--from-objects", c.file}, strings.Fields(c.args)...)
		code, out, errOut := call(args...)
		if code != c.code || !strings.Contains(out+errOut, c.want) {
			t.Errorf("%s: code %d, want %d:\n%s%s\nwant %s", c.args, code, c.code, out, errOut, c.want)
		}
	}
}
