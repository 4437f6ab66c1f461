// Package ends has the texts that name ends of connections, such as deploy/web, zone/a or 10.0.0.0/8, and decides which
// ends a text selects.
//
//minikcm:pure
package ends
