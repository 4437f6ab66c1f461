// Package resourcepoolstatusrequest is the resourcepoolstatusrequest-controller: it answers ResourcePoolStatusRequests
// with the numbers of devices in the pools of a driver (KEP-5677), once for each request, and deletes old ones.
package resourcepoolstatusrequest
