// Package decide determines the properties that a Node gets from the cloud: its provider ID, the
// labels of its instance's type, zone and region, and its addresses. A Node is initialized once,
// when it loses the taint with which its kubelet registered it.
//
//minikcm:pure
package decide
