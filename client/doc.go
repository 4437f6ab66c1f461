// Package client starts the minikcm binary and controls the cluster that it runs: its clock,
// its faults, its snapshots, its write record. It uses only the standard library, so that it
// fits beside every version of client-go and controller-runtime: create their clients from
// Cluster.Kubeconfig.
//
// In a test, Start starts a cluster that ends with the test:
//
//	func TestOperator(t *testing.T) {
//		mk := client.Start(t, client.Nodes(3))
//		config, err := clientcmd.BuildConfigFromFlags("", mk.Kubeconfig)
//		...
//		mk.Advance(24 * time.Hour)
//		mk.Fail("nodes: {action: crash, names: [node-1]}\nfor: 5m")
//		fmt.Println(mk.Why("deployments", "default", "web"))
//	}
//
// The binary is the file that the environment variable MINIKCM names, or "minikcm" in PATH.
// The OpenAPI document at /minikcm/v1/openapi.json describes the requests.
package client
