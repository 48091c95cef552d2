# Every kubectl command that writes. Blocks are set apart by empty lines and run by bash one after another, each directly
# and through the host at once; what they print and how they end must be the same. A block that begins with `?` only
# reads, and is run until it prints the same. NODE_A and NODE_B are nodes (PLAIN_NODE_B is the latter to its own cluster), DIR is
# a folder, CONTAINER_LOG what pods log. Others may run the same script at the same time with other nodes.

# --- nodes: cordon first, so that the scheduler leaves node B to the pods that are to be drained

kubectl cordon $NODE_B

kubectl cordon $NODE_B

kubectl taint nodes $NODE_A flare=yes:PreferNoSchedule

kubectl taint nodes $NODE_A flare=yes:PreferNoSchedule

kubectl taint nodes $NODE_A flare=no:PreferNoSchedule --overwrite

kubectl taint nodes $NODE_A flare-

kubectl label node $NODE_A orbit=low

kubectl label node $NODE_A orbit-

kubectl annotate node $NODE_A seen=yes

kubectl patch node $NODE_A --type=json -p '[{"op":"remove","path":"/metadata/annotations/seen"}]'

# --- create

kubectl create configmap settings --from-literal=a=1 --from-literal=b=two

kubectl create configmap settings --from-literal=a=1

kubectl create configmap planned --dry-run=server --from-literal=a=1 -o json

kubectl create configmap planned --dry-run=client -o json

? kubectl get configmap planned

kubectl create secret generic key --from-literal=k=v

kubectl create serviceaccount pilot

kubectl create token pilot --duration=1h | tr -cd .

kubectl create role reader --verb=get,list --resource=pods

kubectl create rolebinding readers --role=reader --serviceaccount=$NS:pilot

kubectl create quota few --hard=configmaps=40

kubectl create job once --image=once:1

kubectl create cronjob nightly --image=once:1 --schedule='0 3 * * *'

kubectl create job by-hand --from=cronjob/nightly

kubectl create deployment web --image=web:1 --replicas=2 --port=80

kubectl create service clusterip plain --tcp=80

kubectl create ingress way --rule='example.com/*=web:80'

kubectl create poddisruptionbudget two --selector=app=web --min-available=1

kubectl run lone --image=lone:1 --labels=app=lone

kubectl create -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {generateName: made-, labels: {tier: made}}
data: {a: "1"}
END

kubectl create -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: wrong}
dta: {a: "1"}
END

kubectl create -f - --validate=warn <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: warned}
dta: {a: "1"}
END

kubectl create -f - --validate=ignore <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: ignored}
dta: {a: "1"}
END

kubectl create -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: Not_A_Name}
END

kubectl create -f - -o json <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: shown, labels: {tier: shown}}
data: {a: "1"}
END

kubectl create configmap of-nowhere -n nosuch

kubectl create -n default -f - <<END
apiVersion: v1
kind: ConfigMap
metadata: {name: sent-$NS, labels: {orrery.dev/cluster: west}}
END

? kubectl get configmap sent-$NS -n default -o json

kubectl delete configmap sent-$NS -n default

kubectl create priorityclass urgent-$NS --value=10 --dry-run=client -o json | sed 's/"metadata": {/"metadata": {"labels": {"orrery.dev\/cluster": "west"},/' | kubectl create -f -

? kubectl get priorityclass urgent-$NS -o json

kubectl delete priorityclass urgent-$NS

# --- wait

kubectl wait --for=condition=Available deployment/web --timeout=60s

kubectl wait --for=jsonpath='{.status.phase}'=Running pod/lone --timeout=60s

kubectl wait --for=create configmap/settings --timeout=10s

kubectl wait --for=condition=Complete job/once --timeout=60s

kubectl wait --for=condition=Nosuch pod/lone --timeout=1s

# --- apply, client side

kubectl apply -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: applied, labels: {tier: front}}
data: {a: "1", b: "2"}
END

kubectl apply -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: applied, labels: {tier: front}}
data: {a: "1", b: "2"}
END

kubectl apply -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: applied, labels: {tier: back}}
data: {a: "2"}
END

? kubectl get configmap applied -o json

kubectl apply view-last-applied configmap/applied -o json

kubectl get configmap applied -o yaml | sed 's/a: "2"/a: "3"/' | kubectl apply -f -

? kubectl get configmap applied -o json

KUBE_EDITOR="sed -i /a:/s/3/4/" kubectl apply edit-last-applied configmap/applied

kubectl apply set-last-applied --create-annotation -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: "1"}
END

kubectl apply --dry-run=server -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: applied}
data: {z: "1"}
END

kubectl apply -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: pruned-one, labels: {set: pruned}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: pruned-two, labels: {set: pruned}}
END

kubectl apply --prune -l set=pruned --prune-allowlist=core/v1/ConfigMap -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: pruned-one, labels: {set: pruned}}
END

? kubectl get configmaps -l set=pruned -o name

KUBECTL_APPLYSET=true kubectl apply --prune --applyset=secrets/set -n $NS -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: in-set-one}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: in-set-two}
END

KUBECTL_APPLYSET=true kubectl apply --prune --applyset=secrets/set -n $NS -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: in-set-one}
END

kubectl apply -f - <<'END'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {selector: {matchLabels: {app: other}}, template: {metadata: {labels: {app: other}}, spec: {containers: [{name: web, image: web}]}}}
END

# --- apply, server side

kubectl apply --server-side -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: owned}
data: {a: "1", b: "1"}
END

kubectl apply --server-side -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: owned}
data: {a: "1", b: "1"}
END

kubectl apply --server-side --field-manager=other -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: owned}
data: {a: "2"}
END

kubectl apply --server-side --field-manager=other --force-conflicts -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: owned}
data: {a: "2"}
END

? kubectl get configmap owned --show-managed-fields -o json

kubectl apply --server-side -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: owned}
data: {b: "1"}
END

kubectl apply --server-side --dry-run=server -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: never}
data: {b: "1"}
END

kubectl apply --server-side -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: applied}
data: {a: "5"}
END

# --- diff

KUBECTL_EXTERNAL_DIFF="diff -U0 -N --label=live --label=merged" kubectl diff -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: "9"}
END

KUBECTL_EXTERNAL_DIFF="diff -U0 -N --label=live --label=merged" kubectl diff --server-side -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: owned}
data: {b: "1"}
END

# --- replace and edit

kubectl get configmap settings -o json > $DIR/settings.json; sed 's/two/three/' $DIR/settings.json | kubectl replace -f -

sed 's/two/four/' $DIR/settings.json | kubectl replace -f -

kubectl replace -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: "1", b: three}
END

kubectl replace -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: nosuch}
END

kubectl replace --force -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: owned}
data: {a: new}
END

? kubectl get configmap owned -o json

kubectl get deployment web -o json | kubectl replace -f -

KUBE_EDITOR="sed -i s/three/four/" kubectl edit configmap settings

KUBE_EDITOR=true kubectl edit configmap settings

KUBE_EDITOR="sed -i s/tier/Not_a_Label!/" kubectl edit configmap shown

? kubectl get configmap settings -o json

# --- patch

kubectl patch configmap settings -p '{"data":{"c":"3"}}'

kubectl patch configmap settings -p '{"data":{"c":"3"}}'

kubectl patch configmap settings --type=merge -p '{"data":{"c":null,"d":"4"}}'

kubectl patch configmap settings --type=json -p '[{"op":"test","path":"/data/d","value":"4"},{"op":"replace","path":"/data/d","value":"5"}]'

kubectl patch configmap settings --type=json -p '[{"op":"test","path":"/data/d","value":"4"},{"op":"remove","path":"/data/d"}]'

kubectl patch configmap settings --type=json -p "[{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\",\"value\":\"$(kubectl get configmap settings -o jsonpath='{.metadata.resourceVersion}')\"},{\"op\":\"remove\",\"path\":\"/data/d\"}]"

kubectl patch configmap settings --type=merge -p "{\"metadata\":{\"resourceVersion\":\"$(kubectl get configmap settings -o jsonpath='{.metadata.resourceVersion}')\"},\"data\":{\"d\":\"6\"}}"

kubectl patch configmap settings --type=merge -p '{"metadata":{"resourceVersion":"1"},"data":{"d":"7"}}'

kubectl patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"web","imagePullPolicy":"Always"}]}}}}'

kubectl patch deployment web --subresource=scale --type=merge -p '{"spec":{"replicas":3}}'

kubectl patch job once --subresource=status --type=merge -p '{"status":{"conditions":null}}'

kubectl patch configmap settings --dry-run=server -p '{"data":{"never":"1"}}' -o json

kubectl patch configmap nosuch -p '{"data":{"c":"3"}}'

kubectl patch configmap settings --type=json -p '[{"op":"nosuch"}]'

# --- label and annotate

kubectl label configmap settings tier=front

kubectl label configmap settings tier=back

kubectl label configmap settings tier=back --overwrite

kubectl label configmap settings tier=back --overwrite

kubectl label configmaps -l tier=back size=small

kubectl label configmap settings --list | sort

kubectl label configmap settings tier=x --overwrite --resource-version=1

kubectl label configmap settings tier-

kubectl annotate configmap settings note='it turns'

kubectl annotate configmap settings note='it stands'

kubectl annotate --overwrite configmap settings note='it stands'

kubectl annotate configmap settings note-

? kubectl get configmap settings -o json

# --- scale, autoscale

kubectl scale deployment web --replicas=4

kubectl scale deployment web --replicas=5 --current-replicas=9

kubectl scale deployment web --replicas=3 --current-replicas=4

kubectl scale deployment nosuch --replicas=3

kubectl scale configmap settings --replicas=3

kubectl autoscale deployment web --min=3 --max=5 $CPU

? kubectl get horizontalpodautoscaler web -o jsonpath='{.spec}'

kubectl delete horizontalpodautoscaler web

# --- rollout, set

kubectl rollout status deployment/web --timeout=60s | tail -1

kubectl set image deployment/web web=web:2

kubectl rollout status deployment/web --timeout=60s | tail -1

kubectl rollout history deployment/web

kubectl rollout history deployment/web --revision=2 | grep -v pod-template-hash

kubectl rollout pause deployment/web

kubectl rollout pause deployment/web

kubectl set env deployment/web LIGHT=on

kubectl set resources deployment/web --limits=cpu=1

kubectl rollout resume deployment/web

kubectl rollout undo deployment/web --to-revision=1

kubectl rollout undo deployment/web --to-revision=77

kubectl rollout restart deployment/web

kubectl rollout status deployment/web --timeout=60s | tail -1

kubectl set serviceaccount deployment web pilot

kubectl set subject rolebinding readers --serviceaccount=$NS:default

kubectl set selector service plain app=web

? kubectl get deployment web -o jsonpath='{.spec.template.spec.containers}{.spec.replicas}{.status.readyReplicas}'

# --- expose

kubectl expose deployment web --port=80

kubectl expose deployment web --port=80

kubectl expose pod lone --port=81 --name=alone --type=NodePort

? kubectl get services -o custom-columns=NAME:.metadata.name,TYPE:.spec.type,PORT:.spec.ports[*].port,SELECTOR:.spec.selector

# --- inside of pods

# The fake kubelet does not tell a process that its input has ended: whoever reads to the end is ended by a time limit.

kubectl exec lone -- echo 'it moves'

kubectl exec lone -- sh -c 'echo out; echo err >&2; exit 3'

echo 'through and back' | kubectl exec -i lone -- head -1

head -c 3000000 /dev/zero | kubectl exec -i lone -- sh -c 'head -c 3000000 | wc -c'

kubectl exec lone -- head -c 3000000 /dev/zero | wc -c

kubectl exec deployment/web -- true

kubectl exec lone -c nosuch -- true

kubectl exec nosuch -- true

kubectl exec lone -- /nosuch/program 2>&1 | tail -c 30

timeout 30 script -qec "kubectl exec -it lone -- sh -c 'stty size >/dev/null && echo terminal; read line; echo got \$line; sleep 0.5; exit 4'" /dev/null <<< 'typed' | sort

# So many bytes fill tar's record of 10 KiB, and tar does not wait for more before it writes them.

head -c 8704 /dev/zero | tr '\0' x > $DIR/here; kubectl cp $DIR/here lone:$DIR/there & copying=$!
for try in $(seq 300); do cmp -s $DIR/here $DIR/there && break; sleep 0.1; done
kill $copying 2>/dev/null; wait $copying 2>/dev/null; cmp $DIR/here $DIR/there && echo copied

kubectl cp lone:$DIR/there $DIR/back && cmp $DIR/here $DIR/back && echo copied

timeout 20 kubectl logs lone --tail=1

timeout 20 kubectl logs -l app=lone --tail=1 --prefix

timeout 20 kubectl logs lone --follow --timestamps | head -2

kubectl logs nosuch

kubectl attach lone > $DIR/attached 2>&1 & attached=$!
for try in $(seq 100); do grep -q attached $DIR/attached && break; echo '2026-01-01T00:00:02.000000001Z stdout F it is attached' >> $CONTAINER_LOG; sleep 0.1; done
kill $attached 2>/dev/null; wait $attached 2>/dev/null; grep -c attached $DIR/attached > /dev/null && echo attached

kubectl port-forward pod/lone :80 > $DIR/forwarded 2>&1 & forwarding=$!
for try in $(seq 100); do grep -q '127.0.0.1' $DIR/forwarded && break; sleep 0.1; done
port=$(sed -n 's/.*127.0.0.1:\([0-9]*\).*/\1/p' $DIR/forwarded)
exec 9<> /dev/tcp/127.0.0.1/$port && echo 'there and back' >&9 && timeout 10 head -1 <&9
exec 9>&-; kill $forwarding 2>/dev/null; wait $forwarding 2>/dev/null; head -1 $DIR/forwarded

kubectl debug lone --image=tools:1 -c tools --attach=false

? kubectl get pod lone -o jsonpath='{.spec.ephemeralContainers[*].name}'

kubectl debug lone --image=tools:1 -c tools --copy-to=copied --attach=false

? kubectl get pod copied -o jsonpath='{.spec.containers[*].image}{.status.phase}'

# --- drain

kubectl apply -f - <<END
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: settled}
spec: {replicas: 2, selector: {matchLabels: {app: settled}}, template: {metadata: {labels: {app: settled}}, spec: {tolerations: [{operator: Exists}], nodeName: $PLAIN_NODE_B, containers: [{name: c, image: c}]}}}
END

? kubectl get pods -l app=settled --field-selector spec.nodeName=$NODE_B,status.phase=Running -o name

kubectl drain $NODE_B --dry-run=server --ignore-daemonsets 2>&1 | sort

kubectl delete replicaset settled --cascade=orphan

kubectl drain $NODE_B --ignore-daemonsets 2>&1 | sort

kubectl drain $NODE_B --ignore-daemonsets --force --timeout=60s 2>&1 | sort

? kubectl get pods -l app=settled -o name

kubectl uncordon $NODE_B

kubectl uncordon $NODE_B

# --- rights

kubectl auth can-i create pods

kubectl auth can-i create pods --subresource=exec

kubectl auth can-i get nosuch

kubectl auth can-i --list 2>&1 | sort

kubectl auth reconcile -f - <<END
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: $NS}
rules: [{apiGroups: [''], resources: [pods, services], verbs: [get, list]}]
END

openssl req -new -newkey rsa:2048 -nodes -keyout /dev/null -subj /CN=pilot -out $DIR/request.pem 2>/dev/null
kubectl create -f - <<END
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: pilot-$NS, labels: {orrery.dev/cluster: west}}
spec: {request: $(base64 -w0 $DIR/request.pem), signerName: kubernetes.io/kube-apiserver-client, usages: [client auth]}
END

kubectl certificate approve pilot-$NS

kubectl certificate approve pilot-$NS

? kubectl get csr pilot-$NS -o jsonpath='{.status.conditions[*].type}'

kubectl delete csr pilot-$NS

# --- delete

kubectl delete configmap nosuch

kubectl delete configmap nosuch --ignore-not-found

kubectl delete configmap applied --dry-run=server

kubectl delete configmap applied -o name

kubectl delete configmaps -l set=pruned

kubectl delete -f - <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: owned}
END

kubectl delete --raw "/api/v1/namespaces/$NS/configmaps/shown"

kubectl create deployment behind --image=web:1 && kubectl wait --for=condition=Available deployment/behind --timeout=60s && kubectl delete deployment behind --cascade=orphan

? kubectl get replicasets,pods -l app=behind -o name

kubectl delete replicaset -l app=behind

? kubectl get replicasets,pods -l app=behind -o name

kubectl create deployment before --image=web:1 && kubectl wait --for=condition=Available deployment/before --timeout=60s && kubectl delete deployment before --cascade=foreground && kubectl get replicasets,pods -l app=before

kubectl create deployment after --image=web:1 && kubectl wait --for=condition=Available deployment/after --timeout=60s && kubectl delete deployment after --cascade=background --wait=false

? kubectl get deployments,replicasets,pods -l app=after -o name

kubectl patch configmap settings --type=merge -p '{"metadata":{"finalizers":["example.com/held"]}}' && kubectl delete configmap settings --wait=false

kubectl wait --for=delete configmap/settings --timeout=1s

? kubectl get configmap settings -o json

kubectl patch configmap settings --type=merge -p '{"metadata":{"finalizers":null}}' && kubectl wait --for=delete configmap/settings --timeout=20s

kubectl delete pod lone --now

kubectl delete pod copied --grace-period=0 --force

kubectl delete jobs --all

kubectl delete all -l app=web | grep -v replicaset

? kubectl get all -o name

kubectl delete namespace $NS

? kubectl get namespace $NS
