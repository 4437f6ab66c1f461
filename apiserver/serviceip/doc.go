// Package serviceip gives Services their cluster IPs and node ports, as upstream's
// apiserver has since 1.33 (KEP-1880, KEP-3070, KEP-3668).
//
// Every cluster IP is locked by an IPAddress object of its name, and every node port
// by a bit of the one object /registry/ranges/servicenodeports, before the Service
// that has it is stored. A lock is made by a write to the store that only one of
// several processes can succeed with, so that no two Services of a cluster ever hold
// the same address or port, whichever apiserver they were made by. What a Service no
// longer has is unlocked when the store has said so. Of a write whose outcome nobody
// knows the locks stay, until Repair finds that they are nobody's.
package serviceip
