// Package noderoute is the node-route-controller over the simulated cloud: it keeps a route to
// each Node for each of its pod networks, deletes the routes to Nodes that are gone, and sets the
// condition NetworkUnavailable, from which the node-lifecycle-controller makes a taint. The
// routes to Nodes whose networks do not overlap never overlap either, also after a restart: it
// reads the routes from the cloud in every pass, and deletes before it creates.
//
// Passes are as far apart as upstream's, but there is none without news of Nodes or the cloud.
// Routes are created one after the other, upstream's up to 200 at a time: so a replay creates
// them in the same order.
//
// The package decide decides which routes there are.
package noderoute
