// Package cleaner is the certificatesigningrequest-cleaner-controller: it deletes
// requests an hour after they were answered, denied or failed, a day after they were
// made or approved without an answer, and when their certificate has expired.
package cleaner
