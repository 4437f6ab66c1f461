// Package decide determines with which SELinux labels pods use volumes, and which of these uses
// are in conflict. A conflict is reported to both pods when one of them begins it, and not again
// while both stay as they are.
//
//minikcm:pure
package decide
