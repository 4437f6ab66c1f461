// Package cleaner is the certificatesigningrequest-cleaner-controller: it deletes requests
// an hour after they were issued, denied or failed, a day after they were created or
// approved without an answer, and when their certificate has expired.
package cleaner
