# Asks a pod or a Service by a port that is forwarded to it.
rm -f forward.out
kubectl port-forward "$1" "0:$2" > forward.out 2>&1 &
while ! grep -qs 'Forwarding\|rror' forward.out; do sleep 0.1; done
grep rror forward.out && exit 1
curl -s "http://$(grep -o '127[0-9.:]*' forward.out | head -1)/"
echo
kill $!
