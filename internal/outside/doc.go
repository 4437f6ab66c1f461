// Package outside lets programs of this machine into the network of a cluster, from outside: through a proxy (minikcm up --proxy), and
// through the ports of its load balancers and its node ports on the loopback interface (minikcm up --publish). It decides each
// connection as the cluster's own are decided (kubeletsim.Kubelets.Enter), and net/http serves it with the answers of the simulated
// program; a connection to a process of this machine (minikcm.dev/host) is copied.
//
// Nothing listens on any other interface, and no connection leads anywhere but into the cluster.
package outside
